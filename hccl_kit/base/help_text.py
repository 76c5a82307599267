"""The texts of --help in the language of the user."""

from __future__ import annotations

import re

from hccl_kit.base.translation import translated

HELP = "base.help"
"""The id that all texts of --help share."""
USAGE = "usage: "
_APART = r"(?m)(\n\n|\n\Z|\n {2,}\S.*?(?: {2,}(?:# )?|$)(?:\n(?=\S))?)"
"""What stays between the texts of a description: an empty line, or a command on a line of its own."""


def texts_of(description: str) -> list[str]:
    """The texts of a description that are translated, each by itself."""
    return [text for text in re.split(_APART, description)[::2] if text]


def in_language(description: str) -> str:
    """The description with its texts in the language of the user; commands stay as they are."""
    return "".join(translated(piece, HELP) for piece in re.split(_APART, description))


def with_colons(text: str) -> str:
    """The help with a Chinese colon after a Chinese heading."""
    return text if text.isascii() else re.sub(r"(?m)^(\S.*[^\x00-\x7f].*):$", r"\1：", text)
