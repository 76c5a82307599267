"""The places of values in a valid JSON text."""

import json
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from hccl_kit.table.pointer import Pointer, Span

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_BLOCK = 1 << 16
"""Characters between two offsets with a known line number."""


class Place(NamedTuple):
    """Offsets of a value and of its key; `key_end` is 0 for an item of an array, which has no key."""

    key: int
    key_end: int
    value: int
    value_end: int


_Members = Iterator[tuple[str | int, Place]]
"""The members of an object or array, by key or index."""


class Places:
    """Finds places in one text, scanning only as far as the pointers need."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._scanned: dict[int, tuple[_Members, dict[str | int, Place]]] = {}

    def locate(self, pointer: Pointer, *, on_key: bool = False) -> Span:
        """The place of the value, or of its key if it is an object or an array, or with `on_key`.

        If the pointer leads to a missing key, the place of the object that lacks it.
        """
        return self.span(*self.offsets(pointer, on_key=on_key))

    def offsets(self, pointer: Pointer, *, on_key: bool = False) -> tuple[int, int]:
        """As `locate`, in offsets: the first character and the one after the last."""
        place = self._root
        for part in pointer:
            member = self._member(place.value, part)
            if member is None:
                break
            place = member
        is_container = self._text[place.value : place.value + 1] in ("{", "[")
        if place.key_end and (on_key or is_container):
            return place.key, place.key_end
        return place.value, place.value + 1 if is_container else place.value_end

    def span(self, start: int, end: int) -> Span:
        """Offsets as line, column and width."""
        block = start // _BLOCK
        line = self._breaks[block] + self._text.count("\n", block * _BLOCK, start) + 1
        # Not from the start of the text: a table without line breaks would be searched whole for every finding.
        before = self._text.rfind("\n", block * _BLOCK, start)
        return Span(line, start - (before if before >= 0 else self._last_breaks[block]), end - start)

    @cached_property
    def _root(self) -> Place:
        offset = after_space(self._text, 0)
        is_container = self._text[offset : offset + 1] in ("{", "[")
        # Of a container only the first character is marked: reading it to its end would take as long as the whole text.
        end = offset + 1 if is_container else _DECODER.raw_decode(self._text, offset)[1]
        return Place(0, 0, offset, end)

    @cached_property
    def _breaks(self) -> list[int]:
        """The number of line breaks before each block; a list of all line offsets would need 42 bytes per line."""
        counts = (self._text.count("\n", at, at + _BLOCK) for at in range(0, len(self._text), _BLOCK))
        return list(accumulate(counts, initial=0))

    @cached_property
    def _last_breaks(self) -> list[int]:
        """The offset of the last line break before each block, -1 if there is none."""
        offsets = (self._text.rfind("\n", at, at + _BLOCK) for at in range(0, len(self._text), _BLOCK))
        return list(accumulate(offsets, max, initial=-1))

    def _member(self, offset: int, part: str | int) -> Place | None:
        """A member of the object or array at `offset`, which is scanned as far as that member."""
        unread, read = self._scanned.setdefault(offset, (_scan(self._text, offset), {}))
        while part not in read and (member := next(unread, None)):
            read[member[0]] = member[1]
        return read.get(part)


def after_space(text: str, offset: int) -> int:
    """The offset of the next character that is not JSON white space; the length of the text at its end."""
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _scan(text: str, offset: int) -> _Members:
    """The members of the value at `offset`; the decoder, which is C, skips nested values."""
    opening = text[offset : offset + 1]
    if opening not in ("{", "["):
        return
    closing = "}" if opening == "{" else "]"
    position, index = after_space(text, offset + 1), 0
    while text[position] != closing:
        name: str | int = index
        key, key_end = position, 0
        if opening == "{":
            name, key_end = _DECODER.raw_decode(text, position)
            position = after_space(text, after_space(text, key_end) + 1)
        _, end = _DECODER.raw_decode(text, position)
        yield name, Place(key, key_end, position, end)
        index += 1
        position = after_space(text, end)
        if text[position] == ",":
            position = after_space(text, position + 1)
