"""Strict JSON: the value of a text, or its errors with their places and fixes.

The standard decoder reads the text. It accepts more than JSON (NaN, duplicate keys, half a surrogate pair) and is slow
on hostile input (long numbers, deep nesting); both are refused here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from hccl_kit.base.message import Message
from hccl_kit.table.document.places import Places, after_space
from hccl_kit.table.finding import MAX_FINDINGS, NO_CODE, Finding

MAX_DEPTH = 64
"""A rank table nests less than ten levels deep; with this limit, other code may walk the value recursively."""
MAX_NUMBER = 64
"""Characters of a number. Longer ones take quadratic time to read and are not valid in a rank table."""

_INFINITE = float("inf")
_STRINGS = json.JSONDecoder()


class _RefusedError(ValueError):
    """The decoder found something that JSON does not allow; `_refusals` finds its place."""


def read(text: str, containers: int) -> tuple[Any, list[Finding]]:
    """The value of a JSON text, or its errors; the slow search for places runs only for a text with errors.

    `containers` is the number of opening brackets and braces in it.
    """
    try:
        value = _READER.decode(text)
    except json.JSONDecodeError as error:
        return None, [_explained(text, error)]
    except (_RefusedError, RecursionError):
        return None, list(islice(_refusals(text), MAX_FINDINGS))
    is_deep = type(value) in (dict, list) and _deeper_than(value, MAX_DEPTH, containers)
    if is_deep or ("\\" in text and "\\u" in text):  # searching one character is ten times as fast as two
        findings = list(islice(_refusals(text), MAX_FINDINGS))
        return (None, findings) if findings else (value, [])
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
    return len(number) > MAX_NUMBER or float(number) in (_INFINITE, -_INFINITE)


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
    """Whether brackets nest deeper than `limit`; `containers` is their number, or an upper bound.

    The innermost ones, which are most of a large table, are not visited: by the count, none follow.
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


_SIGN = r'"|[\[\]{}]|NaN|-?Infinity|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?'


def _refusals(text: str) -> Iterator[Finding]:
    """Everything in a text that is refused, in one pass without recursion; stops at the first syntax error."""
    open_objects: list[dict[str, int]] = []
    position, signs, span = 0, re.compile(_SIGN), Places(text).span
    while match := signs.search(text, position):
        sign, start, position = match[0], match.start(), match.end()
        if sign == '"':
            try:
                content, position = _STRINGS.raw_decode(text, start)
            except ValueError:
                return
            if half := _half_character(content):
                yield Finding(half, rule="HK001", span=span(start, position))
            if open_objects and _character(text, after_space(text, position)) == ":":
                first = open_objects[-1].setdefault(content, start)
                if first != start:
                    message, hint = _repeated_key(text, first, text[start:position])
                    yield Finding(message, hint, rule="HK004", span=span(start, position))
        elif sign in "{[":
            open_objects.append({})
            if len(open_objects) > MAX_DEPTH:
                message = Message("HK005.depth", "brackets are nested deeper than {most}", most=MAX_DEPTH)
                yield Finding(message, rule="HK005", span=span(start, position))
                return
        elif sign in "}]":
            del open_objects[-1:]
        elif sign.endswith(("N", "y")):
            message = Message("HK001.constant", "not JSON: {constant} is not a number", constant=sign)
            yield Finding(message, rule="HK001", span=span(start, position))
        elif _is_monstrous(sign):
            message = Message("HK006.number", "the number {digits}... is too large or too long", digits=sign[:12])
            yield Finding(message, rule="HK006", span=span(start, position))


def _half_character(content: str) -> Message | None:
    try:
        content.encode("utf-8")
    except UnicodeEncodeError as error:
        half = f"\\u{ord(content[error.start]):04x}"
        return Message("HK001.surrogate", "not JSON: {character} is half of a surrogate pair", character=half)
    return None


def _repeated_key(text: str, first: int, key: str) -> tuple[Message, Message]:
    line = text.count("\n", 0, first) + 1
    message = Message(
        "HK004.key",
        "the key {key} is duplicated in one object; the first is on line {line}",
        key=key[:80],
        line=line,
    )
    return message, Message("HK004.fix", "keep one: programs disagree on which value counts")


def _character(text: str, offset: int) -> str:
    return text[offset : offset + 1]


_MESSAGES = {
    "Expecting value": Message("HK001.value", "not JSON: expected a value here"),
    "Expecting property name enclosed in double quotes": Message(
        "HK001.key", "not JSON: expected a key in double quotes here"
    ),
    "Expecting ':' delimiter": Message("HK001.colon", 'not JSON: expected ":" between key and value'),
    "Expecting ',' delimiter": Message("HK001.delimiter", 'not JSON: expected "," or the closing bracket here'),
    "Unterminated string starting at": Message("HK001.string", "not JSON: this string is not closed"),
    "Invalid control character at": Message("HK001.control", "not JSON: a string must not contain a line break or tab"),
    "Extra data": Message("HK001.rest", "not JSON: unexpected text after the end of the document"),
}
_EMPTY = Message("HK001.empty", "not JSON: the file is empty")
_CUT = Message("HK001.cut", "not JSON: the file ends before the document does")


def _explained(text: str, error: json.JSONDecodeError) -> Finding:
    """The decoder's error with its place, message and fix."""
    start = error.pos if error.msg.startswith("Invalid control") else after_space(text, min(error.pos, len(text)))
    if start == len(text):
        message = _CUT if text.strip(" \t\r\n") else _EMPTY
    else:
        reason = error.msg[:1].lower() + error.msg[1:]
        message = _MESSAGES.get(error.msg, Message("HK001.other", "not JSON: {reason}", reason=reason))
    code = NO_CODE if error.msg == "Extra data" else None  # HCCL reads one value and ignores the rest
    start, end, message, hint = _common_mistake(text, start) or (start, start + 1, message, None)
    return Finding(message, hint, rule="HK001", hccl_error=code, span=Places(text).span(start, end))


def _common_mistake(text: str, start: int) -> tuple[int, int, Message, Message] | None:
    """A common mistake that JSON does not allow, from where to where, and its fix: a comma, comments, single quotes."""
    if _character(text, start) == ",":
        comma, following = start, _character(text, after_space(text, start + 1))
    else:
        before = text[:start].rstrip(" \t\r\n")
        comma, following = (len(before) - 1 if before.endswith(",") else -1), _character(text, start)
    if comma >= 0 and following in ("}", "]"):
        message = Message("HK001.comma", 'not JSON: trailing comma before "{bracket}"', bracket=following)
        return comma, comma + 1, message, Message("HK001.comma.fix", "remove the comma")
    if text.startswith(("//", "/*", "#"), start):
        end = text.find("\n", start)
        message = Message("HK001.comment", "not JSON: comments are not allowed")
        return start, end if end > 0 else len(text), message, Message("HK001.comment.fix", "remove the comments")
    if text.startswith("'", start):
        message = Message("HK001.quotes", "not JSON: keys and strings need double quotes")
        return start, start + 1, message, Message("HK001.quotes.fix", "replace ' by \"")
    return None
