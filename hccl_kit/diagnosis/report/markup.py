"""Markup whose values are escaped, so that nothing from a log becomes an element."""

from __future__ import annotations

import base64
import hashlib
from html import escape

from hccl_kit.base.terminal import printable

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


def policy(style: str) -> str:
    """The Content-Security-Policy of a page: nothing is loaded or run; its style is known by the digest."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
