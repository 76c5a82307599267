"""Pickles of plain values: dictionaries, lists, tuples, texts, numbers, booleans and None. Nothing in one is executed.

The standard library's reader imports what a pickle names, calls it, and takes the memory that an index asks for. So
this is a reader of its own for the opcodes that plain values need (documented by `pickletools` of the standard
library); every other opcode is refused and not executed. What a pickle may make is bounded by the limits below. A list
may contain itself, so a caller that walks through the values must limit the depth.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

MAX_VALUES = 4_000_000
MAX_CONTAINERS = 1_000_000
MAX_INTEGER = 16
"""Bytes of an integer."""
HEADS = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
"""How a pickle begins, of the protocols 2 to 5."""


class RefusedError(ValueError):
    """A pickle is cut, damaged, or has more than plain values; the text says which."""


def load(data: bytes) -> Any:
    """The value of a pickle. Raises RefusedError if it is not one of plain values."""
    reader = _Reader(data)
    try:
        return reader.read()
    except RefusedError:
        raise
    except (IndexError, KeyError, TypeError, ValueError):
        raise RefusedError(f"it is damaged at byte {reader.at}") from None


class _Reader:
    """The stack machine of pickles; _STEPS has what it does for each opcode."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.values = self.containers = 0

    def read(self) -> Any:
        while True:
            code = self.data[self.at : self.at + 1]
            if code == b".":
                return self.stack.pop()
            if not code:
                raise RefusedError("it ends in the middle")
            step = _STEPS.get(code)
            if step is None:
                raise RefusedError(f"it has more than plain values (opcode {code!r} at byte {self.at})")
            self.at += 1
            step(self)

    def taken(self, size: int) -> bytes:
        part = self.data[self.at : self.at + size]
        if len(part) < size:
            raise RefusedError("it ends in the middle")
        self.at += size
        return part

    def skip(self, size: int) -> None:
        self.taken(size)

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.taken(struct.calcsize(form)))[0]

    def count(self) -> None:
        self.values += 1
        if self.values > MAX_VALUES:
            raise RefusedError(f"it has more than {MAX_VALUES} values")

    def push(self, value: object) -> None:
        self.count()
        self.stack.append(value)

    def contain(self, value: object) -> None:
        self.containers += 1
        if self.containers > MAX_CONTAINERS:
            raise RefusedError(f"it has more than {MAX_CONTAINERS} lists and dictionaries")
        self.push(value)

    def since_mark(self) -> list[Any]:
        mark = self.marks.pop()
        items = self.stack[mark:]
        del self.stack[mark:]
        return items

    def text(self, form: str) -> None:
        self.push(self.taken(self.number(form)).decode("utf-8", "replace"))

    def integer(self, form: str) -> None:
        size = self.number(form)
        if size > MAX_INTEGER:
            raise RefusedError(f"it has an integer of {size} bytes")
        self.push(int.from_bytes(self.taken(size), "little", signed=True))

    def remember(self, key: int) -> None:
        self.count()
        self.memo[key] = self.stack[-1]

    def mark(self) -> None:
        self.count()
        self.marks.append(len(self.stack))

    def group(self, count: int) -> None:
        items = self.stack[-count:]
        if len(items) < count:
            raise IndexError
        del self.stack[-count:]
        self.contain(tuple(items))

    def append(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], list):
            raise TypeError
        self.stack[-1].extend(items)

    def set_items(self, items: list[Any]) -> None:
        if not isinstance(self.stack[-1], dict):
            raise TypeError
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, str):  # numbers with equal hashes take hours, nested tuples overflow the stack
                raise RefusedError("it has a key that is not a text")
            self.stack[-1][key] = value

    def last(self, count: int) -> list[Any]:
        items = self.stack[-count:]
        del self.stack[-count:]
        return items


_STEPS: dict[bytes, Callable[[_Reader], None]] = {
    b"\x80": lambda it: it.skip(1),  # PROTO
    b"\x95": lambda it: it.skip(8),  # FRAME
    b"N": lambda it: it.push(None),
    b"\x88": lambda it: it.push(True),
    b"\x89": lambda it: it.push(False),
    b"K": lambda it: it.push(it.number("<B")),  # BININT1
    b"M": lambda it: it.push(it.number("<H")),  # BININT2
    b"J": lambda it: it.push(it.number("<i")),  # BININT
    b"\x8a": lambda it: it.integer("<B"),  # LONG1
    b"G": lambda it: it.push(it.number(">d")),  # BINFLOAT
    b"X": lambda it: it.text("<I"),  # BINUNICODE
    b"\x8c": lambda it: it.text("<B"),  # SHORT_BINUNICODE
    b"\x8d": lambda it: it.text("<Q"),  # BINUNICODE8
    b"]": lambda it: it.contain([]),
    b"}": lambda it: it.contain({}),
    b")": lambda it: it.contain(()),
    b"(": _Reader.mark,
    b"t": lambda it: it.contain(tuple(it.since_mark())),  # TUPLE
    b"\x85": lambda it: it.group(1),
    b"\x86": lambda it: it.group(2),
    b"\x87": lambda it: it.group(3),
    b"a": lambda it: it.append(it.last(1)),  # APPEND
    b"e": lambda it: it.append(it.since_mark()),  # APPENDS
    b"s": lambda it: it.set_items(it.last(2)),  # SETITEM
    b"u": lambda it: it.set_items(it.since_mark()),  # SETITEMS
    b"q": lambda it: it.remember(it.number("<B")),  # BINPUT
    b"r": lambda it: it.remember(it.number("<I")),  # LONG_BINPUT
    b"\x94": lambda it: it.remember(len(it.memo)),  # MEMOIZE
    b"h": lambda it: it.push(it.memo[it.number("<B")]),  # BINGET
    b"j": lambda it: it.push(it.memo[it.number("<I")]),  # LONG_BINGET
}
"""What each opcode does."""
