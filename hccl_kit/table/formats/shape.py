"""Readers of JSON values: each returns the value with its type, or raises StructureError.

Reading is the hot path of every check, so it only says yes or no; why it is no is the schema's business. Property
tests hold reader and schema to the same verdict.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from hccl_kit.table.model import NOTHING

MAX_DIGITS = 10
"""HCCL keeps numbers in 32 bits."""


class StructureError(ValueError):
    """The value has not the structure of its format."""


def mapping(value: object) -> dict[str, Any]:
    """The value as an object of JSON."""
    if not isinstance(value, dict):
        raise StructureError
    return value


def array(value: object) -> list[Any]:
    """The value as an array of JSON."""
    if not isinstance(value, list):
        raise StructureError
    return value


def text(value: object) -> str:
    """The value as a text."""
    if not isinstance(value, str):
        raise StructureError
    return value


def number(value: object) -> int:
    """The number in a text of 1 to 10 digits."""
    if not (isinstance(value, str) and len(value) <= MAX_DIGITS and value.isascii() and value.isdecimal()):
        raise StructureError
    return int(value)


def numbers(values: Sequence[object]) -> list[int]:
    """As `number` for each, at the price of one."""
    if not set(map(type, values)) <= {str}:
        raise StructureError
    texts: list[str] = list(values)  # type: ignore[arg-type]  # the line above
    joined = "".join(texts)
    if joined and not (joined.isascii() and joined.isdecimal() and max(map(len, texts)) <= MAX_DIGITS):
        raise StructureError
    try:
        return list(map(int, texts))
    except ValueError:  # an empty text
        raise StructureError from None


def integer(value: object, lowest: int, highest: int) -> int:
    """The value as a whole number; true and false are none, and neither is 1.0."""
    if type(value) is not int or not lowest <= value <= highest:
        raise StructureError
    return value


def optional_text(value: Mapping[str, Any], key: str) -> str | None:
    """The text under a key that may be absent, but not null."""
    return text(value[key]) if key in value else None


def extra(value: Mapping[str, Any], known: Collection[str]) -> Mapping[str, Any]:
    """What is in an object besides the keys in `known`."""
    if len(value) <= len(known) and all(key in known for key in value):
        return NOTHING
    return {key: item for key, item in value.items() if key not in known}


def texts(value: Mapping[str, Any], keys: Iterable[str]) -> None:
    """Each of the keys that is there holds a text."""
    if value:
        for key in keys:
            if key in value:
                text(value[key])
