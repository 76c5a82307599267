"""Places in a document: the way to a value, and where it stands in the text."""

from __future__ import annotations

from typing import NamedTuple

Pointer = tuple[str | int, ...]
"""The way from the root of a document to a value: keys and indexes (RFC 6901 without the escaping)."""


def to_json_pointer(pointer: Pointer) -> str:
    """RFC 6901 text: `("server_list", 0)` becomes `/server_list/0`; the whole document is the empty string."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in pointer)


class Span(NamedTuple):
    """A place in a text: line and column count from 1, column in characters; `width` characters are marked."""

    line: int
    column: int
    width: int = 1
