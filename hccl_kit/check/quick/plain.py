"""Reads JSON with the decoder of the standard library alone, and only texts that `table.document` accepts too.

That decoder accepts more than strict JSON. The rest is refused here: constants such as NaN and real numbers by hooks,
unpaired surrogates by refusing all escapes, and duplicate keys by counting colons. Every member of an object has one
colon outside strings, so there is no duplicate if the text has as many colons as the objects read have members, plus
those inside strings. The checks of the formats count both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from hccl_kit.table.source import MAX_BYTES, MAX_CONTAINERS

if TYPE_CHECKING:
    from hccl_kit.table.columns import Columns

Proven: TypeAlias = "tuple[int, int, Callable[[], Columns] | None]"
"""The numbers of servers and devices of a valid table, and its devices; None if they hold more than `Columns` can.

The devices are a function, since a check needs the numbers only."""

_MARK = "\ufeff"
_MAX_DIGITS = 64


class UnprovenError(Exception):
    """The document is not certainly valid."""


DOUBTS = (UnprovenError, ValueError, TypeError, KeyError, OSError, RecursionError)
"""The exceptions of a failed proof. A value of an unexpected type or form raises those of the standard library."""


def require(*conditions: bool) -> None:
    """Raises UnprovenError if one of the conditions does not hold."""
    if not all(conditions):
        raise UnprovenError


def read(data: bytes | str) -> tuple[Any, int]:
    """The value of a document and the number of colons in its text.

    Raises UnprovenError, ValueError or RecursionError if it may not be strict JSON.
    """
    require(len(data) <= MAX_BYTES)
    text = _decoded(data)
    require("\\" not in text, text[:1] != _MARK)
    if len(text) > 2 * MAX_CONTAINERS:  # a shorter text cannot hold as many
        require(text.count("{") + text.count("[") <= MAX_CONTAINERS)
    return _DECODER.decode(text), text.count(":")


def _decoded(data: bytes | str) -> str:
    if isinstance(data, bytes):
        return data.decode("utf-8")
    if not data.isascii():
        data.encode("utf-8")  # fails on an unpaired surrogate
    return data


def _refused(_: str) -> NoReturn:
    raise UnprovenError


def _integer(digits: str) -> int:
    require(len(digits) <= _MAX_DIGITS)
    return int(digits)


def _is_int_bounded() -> bool:
    """Whether `int` itself refuses long numbers, which take quadratic time (Python 3.10.7 and later, by default)."""
    limit = getattr(sys, "get_int_max_str_digits", int)()
    return 0 < limit <= 10_000


_DECODER = json.JSONDecoder(
    parse_int=int if _is_int_bounded() else _integer, parse_float=_refused, parse_constant=_refused, strict=True
)


class Counted:
    """Counts the members of the objects of one document, and the colons in its strings.

    Each object and each string is given to one method once: counted twice, it could hide a duplicate key.
    """

    def __init__(self) -> None:
        self._members = 0
        self._colons = 0

    def require_unique_keys(self, colons: int) -> None:
        """Raises UnprovenError if an object may have a duplicate key; `colons` is the number of colons in the text."""
        require(self._members + self._colons == colons)

    def columns(
        self, objects: Sequence[Any], required: Sequence[str], optional: Sequence[str] = ()
    ) -> tuple[list[list[Any]], Mapping[str, list[Any]]]:
        """The values of each required key, and of the optional keys that occur, with None where one is absent.

        Raises UnprovenError, KeyError or TypeError if one of `objects` is not an object, lacks a key or has another.
        """
        columns = _columns(objects, required)
        members = sum(map(len, objects))
        self._members += members
        left = members - len(required) * len(objects)
        found = {}
        for key in optional if left else ():
            values = list(map(dict.get, objects, repeat(key)))
            present = len(values) - values.count(None)  # null is not counted, so it is refused
            if present:
                found[key] = values
                left -= present
        require(left == 0)
        return columns, found

    def top(self, value: object, required: Iterable[str], optional: Iterable[str]) -> Mapping[str, str]:
        """The members of the top object that are neither required nor optional; each is a string."""
        if not isinstance(value, dict):
            raise UnprovenError
        require(all(key in value for key in required))
        self._members += len(value)
        known = {*required, *optional}
        extra = {key: item for key, item in value.items() if key not in known}
        self.texts(list(extra.values()))
        return extra

    def texts(self, values: Sequence[Any]) -> str:
        """All values in one text. Raises TypeError if one is not a string."""
        text = "".join(values)
        self._colons += text.count(":")
        return text

    def unknown(self, objects: Sequence[Any], known: frozenset[str]) -> Mapping[str, list[str]]:
        """The values of the keys that are not in `known`; each is a string. The members are counted by this."""
        if set(map(type, objects)) != {dict}:
            raise UnprovenError
        self._members += sum(map(len, objects))
        keys = set().union(*objects) - known
        found = {key: [one[key] for one in objects if key in one] for key in sorted(keys)}
        for values in found.values():
            self.texts(values)
        return found


def _columns(objects: Sequence[Any], keys: Sequence[str]) -> list[list[Any]]:
    """The values of each key. Each object is visited once: most are no longer in the processor's cache."""
    values = map(itemgetter(*keys), objects)
    if len(keys) == 1:
        return [list(values)]
    flattened = flat(values)
    return [flattened[start :: len(keys)] for start in range(len(keys))]


def arrays(values: Sequence[Any]) -> list[int]:
    """The lengths of values that are arrays. Raises UnprovenError if one is not."""
    require(set(map(type, values)) <= {list})
    return list(map(len, values))


def flat(lists: Iterable[Iterable[Any]]) -> list[Any]:
    """The items of all arrays in one."""
    return list(chain.from_iterable(lists))
