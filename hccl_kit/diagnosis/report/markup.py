"""Markup whose values are escaped, so that nothing from a log becomes an element."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape

from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.translation import translated

MAX_TEXT = 400
"""Characters of one value; a page has thousands of them."""


def element(name: str, *inner: str, **attributes: object) -> str:
    """An element around markup; attributes are escaped, `class_` is `class`."""
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(str(value))}"' for key, value in attributes.items())
    return f"<{name}{given}>{''.join(inner)}</{name}>"


def text(value: str) -> str:
    """A value as markup, without control characters and bounded."""
    shown = value if len(value) <= MAX_TEXT else value[: MAX_TEXT - 3] + "..."
    return escape(printable(shown))


_LANGUAGE = Message("diagnosis.html-language", "en")
"""The value of the attribute lang."""
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --pale: #5d6b7a; --paper: #fff; --line: #d3dae2; --bad: #c62828; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --pale: #9aa7b4; --paper: #12181f; --line: #35414d;
  --bad: #ff7b72; } }
body { margin: 2rem auto; max-width: 1120px; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); }
.bad { color: var(--bad); font-weight: 600; }
table { border-collapse: collapse; } th { color: var(--pale); } code { font: 13px/1.4 ui-monospace, monospace; }
svg text { font: 12px system-ui, sans-serif; }
footer { margin-top: 2rem; color: var(--pale); font-size: .85rem; }
"""
_PAGE = """\
<!DOCTYPE html>
<html lang="{language}"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">{refresh}
<meta name="viewport" content="width=device-width">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style></head>
<body>
{body}
</body></html>
"""


def page(title: str, style: str, body: Sequence[str], refresh: str = "") -> str:
    """A page that loads nothing and runs nothing; `style` follows what all pages have."""
    style = _STYLE + style
    return _PAGE.format(
        language=translated(_LANGUAGE),
        policy=_policy(style),
        refresh=refresh,
        title=title,
        style=style,
        body="\n".join(body),
    )


def _policy(style: str) -> str:
    """The Content-Security-Policy: nothing is loaded or run; the style is known by its digest."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
