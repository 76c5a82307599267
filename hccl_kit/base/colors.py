"""Colors of text on a terminal: severities, headings, lines of a diff. `terminal.wants_color` decides whether."""

from __future__ import annotations

import re

_RED, _GREEN, _YELLOW, _CYAN, _BOLD, _PLAIN = (f"\033[{code}m" for code in (31, 32, 33, 36, 1, 0))
_SEVERITIES = {"error": _RED, "warning": _YELLOW, "note": _CYAN, "错误": _RED, "警告": _YELLOW, "说明": _CYAN}
_WORD = "|".join(_SEVERITIES)
_LABEL = (
    rf"(?m)^(?:(?P<severity>{_WORD})(?=[:：])"
    r"|(?P<name>HK\d{3}|E[IJ]\d{4}|[A-Z][a-z ]{2,20}:|[\u4e00-\u9fff]{2,6}：|next:|  fix:|  解决方法：)"
    rf"(?P<gap> +(?:[a-z0-9-]+(?: +|（))?\(?)?(?P<of_rule>(?:{_WORD})\b)?)"
)
_STATES = {"works": _GREEN, "absent": _YELLOW, "broken": _RED}
_CHANGES = {"+": _GREEN, "-": _RED, "@": _CYAN}


def with_labels(text: str) -> str:
    """The text with color for what its lines begin with: a severity, the id of a rule and its severity, a heading."""
    return re.sub(_LABEL, _colored, text)


def with_headings(text: str) -> str:
    """The text with its first line in red, and with the heading of every other line, up to the colon, in bold."""
    first, *others = text.split("\n")
    return "\n".join(
        [
            removed(first),
            *(re.sub("^(?:[a-z ]{2,14}:|[一-鿿]{2,8}：)", f"{_BOLD}\\g<0>{_PLAIN}", line) for line in others),
        ]
    )


def with_changes(diff: str) -> str:
    """A unified diff with added lines in green, removed ones in red."""
    lines = ((_CHANGES.get(line[:1]), line) for line in diff.split("\n"))
    return "\n".join(f"{color}{line}{_PLAIN}" if color else line for color, line in lines)


def with_state(state: str, word: str) -> str:
    """The word for the state of a check, in the language of the reader."""
    return f"{_STATES[state]}{word}{_PLAIN}"


def removed(text: str) -> str:
    """A removed value."""
    return f"{_RED}{text}{_PLAIN}"


def added(text: str) -> str:
    """A new value."""
    return f"{_GREEN}{text}{_PLAIN}"


def _colored(match: re.Match[str]) -> str:
    severity = match["severity"] or match["of_rule"]
    name = f"{_BOLD}{match['name']}{_PLAIN}{match['gap'] or ''}" if match["name"] else ""
    return f"{name}{_SEVERITIES[severity]}{severity}{_PLAIN}" if severity else name
