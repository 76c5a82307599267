"""JSON read strictly and explained: what is wrong with a text, and where, in words that say how to mend it.

The decoder of the standard library does the reading. It takes more than JSON (NaN, a key given twice, half a surrogate
pair) and costs too much on hostile input (long numbers, deep nesting); what it takes too many is refused here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from math import isinf
from typing import Any, NamedTuple

from hccl_kit.table.document.places import after_space
from hccl_kit.table.finding import NO_CODE

MAX_DEPTH = 64
"""A rank table nests less than ten deep; whoever walks the value may recurse."""
MAX_NUMBER = 64
"""Characters of a number. Longer ones take quadratic time to read and mean nothing in a rank table."""

MAX_FAULTS = 100
"""Who gets so many faults mends the program that wrote the file; a longer list helps nobody."""

_STRINGS = json.JSONDecoder()


class SyntaxFault(NamedTuple):
    """One fault of a text: the rule it breaks and the characters `start` to `end`."""

    rule: str
    start: int
    end: int
    message: str
    hint: str | None = None
    hccl_error: str | None = None


class _RefusedError(ValueError):
    """Something the decoder would take; where it stands is looked for afterwards."""


def read(text: str, containers: int) -> tuple[Any, list[SyntaxFault]]:
    """The value of a JSON text, or its faults; the slow search for places runs only when something is wrong.

    `containers`: how many brackets and braces are opened in it.
    """
    try:
        value = _READER.decode(text)
    except json.JSONDecodeError as error:
        return None, [_explained(text, error)]
    except (_RefusedError, RecursionError):
        return None, list(islice(_refusals(text), MAX_FAULTS))
    is_deep = type(value) in (dict, list) and _deeper_than(value, MAX_DEPTH, containers)
    if is_deep or ("\\" in text and "\\u" in text):  # one character is looked for ten times as fast as two
        faults = list(islice(_refusals(text), MAX_FAULTS))
        return (None, faults) if faults else (value, [])
    return value, []


def _integer(digits: str) -> int:
    if len(digits) > MAX_NUMBER:
        raise _RefusedError
    return int(digits)


def _real(digits: str) -> float:
    if _is_monstrous(digits):
        raise _RefusedError
    return float(digits)


def _is_monstrous(number: str) -> bool:
    return len(number) > MAX_NUMBER or isinf(float(number))


def _constant(_: str) -> None:
    raise _RefusedError


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _RefusedError
    return value


_READER = json.JSONDecoder(
    parse_int=_integer, parse_float=_real, parse_constant=_constant, object_pairs_hook=_unique, strict=True
)


def _deeper_than(value: Any, limit: int, containers: int) -> bool:
    """Whether brackets nest deeper than `limit`; `containers` is how many there are, or more.

    The innermost ones, nearly everything in a large table, are not looked into: the count says that they are the last.
    """
    level = [value]
    for _ in range(limit):
        containers -= len(level)
        if containers <= 0:
            return False
        level = [
            child
            for item in level
            for child in (item.values() if type(item) is dict else item)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


_TOKEN = re.compile(r'"|[\[\]{}]|NaN|-?Infinity|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?')


def _refusals(text: str) -> Iterator[SyntaxFault]:
    """Every refused thing in a text, in one pass without recursion; ends early where the text is no JSON at all."""
    open_objects: list[dict[str, int]] = []
    position = 0
    while match := _TOKEN.search(text, position):
        sign, start, position = match[0], match.start(), match.end()
        if sign == '"':
            try:
                content, position = _STRINGS.raw_decode(text, start)
            except ValueError:
                return
            yield from _half_character(content, start, position)
            if open_objects and _character(text, after_space(text, position)) == ":":
                first = open_objects[-1].setdefault(content, start)
                if first != start:
                    yield _repeated_key(text, first, start, position)
        elif sign in "{[":
            open_objects.append({})
            if len(open_objects) > MAX_DEPTH:
                yield SyntaxFault("HK005", start, position, f"brackets are nested deeper than {MAX_DEPTH}")
                return
        elif sign in "}]":
            del open_objects[-1:]
        elif sign.endswith(("N", "y")):
            yield SyntaxFault("HK001", start, position, f"not JSON: {sign} is no number")
        elif _is_monstrous(sign):
            yield SyntaxFault("HK006", start, position, f"the number {sign[:12]}... is too large or too long")


def _half_character(content: str, start: int, end: int) -> Iterator[SyntaxFault]:
    try:
        content.encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(content[error.start]):04x}"
        yield SyntaxFault("HK001", start, end, f"not JSON: {half} is half of a surrogate pair and no character")


def _repeated_key(text: str, first: int, start: int, end: int) -> SyntaxFault:
    line = text.count("\n", 0, first) + 1
    message = f"the key {text[start:end][:80]} is given twice in one object; the first is on line {line}"
    return SyntaxFault("HK004", start, end, message, "programs disagree on which one counts: keep one")


def _character(text: str, offset: int) -> str:
    return text[offset : offset + 1]


_WORDS = {
    "Expecting value": "a value is expected here",
    "Expecting property name enclosed in double quotes": "a key in double quotes is expected here",
    "Expecting ':' delimiter": 'a ":" is expected between key and value',
    "Expecting ',' delimiter": 'a "," or the closing bracket is expected here',
    "Unterminated string starting at": "this text is never closed",
    "Invalid control character at": "a line break or tab may not stand in a text",
    "Extra data": "the document ends before this, and nothing may follow it",
}


def _explained(text: str, error: json.JSONDecodeError) -> SyntaxFault:
    """The decoder's error in the words of somebody who wants to mend the file."""
    start = error.pos if error.msg.startswith("Invalid control") else after_space(text, min(error.pos, len(text)))
    words = _WORDS.get(error.msg, error.msg[:1].lower() + error.msg[1:])
    if start == len(text):
        is_empty = not text.strip(" \t\r\n")
        words = "the file is empty" if is_empty else "the file ends before the document does"
    code = NO_CODE if error.msg == "Extra data" else None  # HCCL reads one value and looks no further
    fault = _slip(text, start) or SyntaxFault("HK001", start, start + 1, f"not JSON: {words}")
    return fault._replace(hccl_error=code)


def _slip(text: str, start: int) -> SyntaxFault | None:
    """What people write although JSON has no such thing: a comma at the end, comments, single quotes."""
    if _character(text, start) == ",":
        comma, following = start, _character(text, after_space(text, start + 1))
    else:
        before = text[:start].rstrip(" \t\r\n")
        comma, following = (len(before) - 1 if before.endswith(",") else -1), _character(text, start)
    if comma >= 0 and following in ("}", "]"):
        message = f'not JSON: a comma may not stand before the closing "{following}"'
        return SyntaxFault("HK001", comma, comma + 1, message, "remove the comma")
    if text.startswith(("//", "/*", "#"), start):
        end = text.find("\n", start)
        message = "not JSON: a rank table holds no comments"
        return SyntaxFault("HK001", start, end if end > 0 else len(text), message, "remove the comments")
    if text.startswith("'", start):
        message = "not JSON: keys and texts stand in double quotes"
        return SyntaxFault("HK001", start, start + 1, message, "write \" for '")
    return None
