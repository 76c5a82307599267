"""Readers of JSON values: each returns the value with its type, or raises StructureError.

These functions do not explain: the schemas do. Property tests make sure that readers and schemas accept the same
documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hccl_kit.table.bounds import MAX_DIGITS
from hccl_kit.table.model import NOTHING


class StructureError(ValueError):
    """The value does not have the structure of its format."""


def mapping(value: object) -> dict[str, Any]:
    """The value as a JSON object."""
    if not isinstance(value, dict):
        raise StructureError
    return value


def array(value: object) -> list[Any]:
    """The value as a JSON array."""
    if not isinstance(value, list):
        raise StructureError
    return value


def text(value: object) -> str:
    """The value as a string."""
    if not isinstance(value, str):
        raise StructureError
    return value


def number(value: object) -> int:
    """The number in a string of 1 to 10 digits."""
    if not (isinstance(value, str) and len(value) <= MAX_DIGITS and value.isascii() and value.isdecimal()):
        raise StructureError
    return int(value)


def integer(value: object, lowest: int, highest: int) -> int:
    """The value as an integer; true, false and 1.0 are not integers."""
    if type(value) is not int or not lowest <= value <= highest:
        raise StructureError
    return value


def optional_text(value: Mapping[str, Any], key: str) -> str | None:
    """The string under an optional key, which must not be null."""
    return text(value[key]) if key in value else None


def extra(value: Mapping[str, Any], known: frozenset[str]) -> Mapping[str, Any]:
    """The members of an object whose keys are not in `known`."""
    if known.issuperset(value):
        return NOTHING
    return {key: item for key, item in value.items() if key not in known}


def texts(value: Mapping[str, Any], keys: Iterable[str]) -> None:
    """Raises StructureError if one of the optional keys holds anything but a string."""
    for key in keys if value else ():
        if key in value:
            text(value[key])
