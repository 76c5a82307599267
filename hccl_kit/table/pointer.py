"""Places in a document: the path to a value, and its position in the text."""

from typing import NamedTuple

Pointer = tuple[str | int, ...]
"""The path from the root of a document to a value: keys and indexes (RFC 6901 without escaping)."""


def to_json_pointer(pointer: Pointer) -> str:
    """RFC 6901 text: `("server_list", 0)` becomes `/server_list/0`; the whole document is the empty string."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in pointer)


class Span(NamedTuple):
    """A position in a text: line and column from 1, the column in characters; `width` characters are marked."""

    line: int
    column: int
    width: int = 1
