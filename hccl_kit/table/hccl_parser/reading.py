"""How HCCL's parser of versions 1.x takes values from a document, and what it reports where it cannot.

A text that is missing or of another type is EI0017. Of lists and objects it asks no more than that they are not empty,
and says no code; a text or a number counts as a list of one, in which nothing is found.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, NoReturn

from hccl_kit.table.ip import Address, parse_address
from hccl_kit.table.pointer import Pointer

MISSING, INVALID = "EI0017", "EI0014"
MAX_NAME = 127
"""Bytes of a name that HCCL keeps in a pool of unique ones."""
_MAX_UNSIGNED, _MAX_SIGNED = 2**32 - 1, 2**31 - 1
_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?)0*([0-9]{0,20})(?<=[0-9])(?![0-9])")


class Stop(NamedTuple):
    """The end of HCCL's reading: the first code that it reported (None: it only logs), and the place it looked at."""

    code: str | None
    at: Pointer


class StopError(Exception):
    """HCCL reads no further."""


class Reading:
    """What HCCL has reported so far. A report does not always end the reading: a `device_ip` of another type is one."""

    def __init__(self) -> None:
        self.first: Stop | None = None

    def report(self, code: str, at: Pointer) -> None:
        """The code goes into the log; the first one is what the user looks up."""
        self.first = self.first or Stop(code, at)

    def stop(self, at: Pointer, code: str | None = None) -> NoReturn:
        """The end, with `code` or without one."""
        self.first = self.first or Stop(code, at)
        raise StopError

    def text(self, holder: Any, key: str, at: Pointer) -> str:
        """The text under a key that HCCL asks for."""
        value = self.optional(holder, key, at)
        return value if value is not None else self.stop(at, MISSING)

    def optional(self, holder: Any, key: str, at: Pointer) -> str | None:
        """The text under a key that may be absent, but holds no other type."""
        if not (isinstance(holder, dict) and key in holder):
            return None
        value = holder[key]
        return value if isinstance(value, str) else self.stop((*at, key), MISSING)

    def tolerated(self, holder: Any, key: str, at: Pointer) -> str | None:
        """As `optional`; a value of another type is reported, and HCCL goes on as if there were none."""
        value = holder.get(key) if isinstance(holder, dict) else None
        if isinstance(value, str):
            return value
        if isinstance(holder, dict) and key in holder:
            self.report(MISSING, (*at, key))
        return None

    def non_empty(self, holder: Any, key: str, at: Pointer) -> Any:
        """What stands under a key, of any type but not empty."""
        value = holder.get(key) if isinstance(holder, dict) else None
        return value if size(value) else self.stop((*at, key))

    def items(self, value: Any, at: Pointer, code: str | None = None) -> list[Any]:
        """The items of what HCCL takes for a list, or the end at the first that it looks for in something else."""
        return value if isinstance(value, list) else self.stop(at, code)

    def unsigned(self, text: str, at: Pointer, code: str | None = None) -> int:
        """A number from 0 on."""
        value = number(text)
        return value if value is not None else self.stop(at, code)

    def signed(self, text: str, at: Pointer) -> int:
        """A number of 32 bits with its sign."""
        value = _leading(text)
        return value if value is not None and -_MAX_SIGNED - 1 <= value <= _MAX_SIGNED else self.stop(at)

    def address(self, text: str, at: Pointer) -> Address:
        """An address of any family."""
        found = address(text)
        return found if found is not None else self.stop(at, INVALID)

    def unique(self, name: str, pool: set[str], at: Pointer) -> None:
        """A name that is not in the pool yet, where it is put."""
        if name in pool:
            self.stop(at, INVALID)
        pool.add(name)


def size(value: Any) -> int:
    """How many items HCCL counts in a value: none in null, one in any text or number."""
    return len(value) if isinstance(value, (list, dict)) else 0 if value is None else 1


def number(text: str) -> int | None:
    """The number from 0 to 2^32 - 1 at the beginning of a text, after blanks and a sign; None without one.

    What comes after it is not looked at, and a minus counts down from 2^64.
    """
    if len(text) < 10 and text.isdecimal() and text.isascii():  # what nearly every number is
        return int(text)
    value = _leading(text)
    if value is None or abs(value) >= 2**64:
        return None
    return value % 2**64 if value % 2**64 <= _MAX_UNSIGNED else None


def _leading(text: str) -> int | None:
    """The number that a text begins with; None where it begins with none, or with one of more than 20 digits."""
    match = _NUMBER.match(text)
    return int(f"{match[1]}0{match[2]}") if match else None


def address(text: str) -> Address | None:
    """The address in a text, which ends for HCCL at a zero character before the "%" of an interface."""
    plain, percent, interface = text.partition("%")
    return parse_address(plain.partition("\0")[0] + percent + interface)


def bytes_of(text: str) -> int:
    """The length of a text as HCCL counts it."""
    return len(text.encode("utf-8", errors="surrogatepass"))
