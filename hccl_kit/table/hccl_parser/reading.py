"""How HCCL's parser of versions 1.x takes values from a document, and the error codes if it cannot.

A string that is missing or of another type is EI0017. A list or object must only be non-empty, and no code is reported
if it is empty; a string or number counts as a list with one item, in which no key is found.
"""

import re
from typing import Any, NamedTuple, NoReturn

from hccl_kit.table.bounds import MAX_SIGNED, MAX_UNSIGNED
from hccl_kit.table.ip import Address, parse_address
from hccl_kit.table.pointer import Pointer

MISSING, INVALID = "EI0017", "EI0014"
_NUMBER = r"[ \t\n\v\f\r]*([+-]?)0*([0-9]{0,20})(?<=[0-9])(?![0-9])"


class Stop(NamedTuple):
    """The first error of HCCL: its code (None: HCCL only logs), and its place."""

    code: str | None
    at: Pointer


class StopError(Exception):
    """HCCL stops reading."""


class Reading:
    """The errors reported so far. HCCL does not stop at every error, such as a `device_ip` of another type."""

    def __init__(self) -> None:
        self.first: Stop | None = None

    def report(self, code: str, at: Pointer) -> None:
        """Report a code without stopping; only the first code is kept."""
        self.first = self.first or Stop(code, at)

    def stop(self, at: Pointer, code: str | None = None) -> NoReturn:
        """Stop, with an error code or without one."""
        self.first = self.first or Stop(code, at)
        raise StopError

    def text(self, holder: Any, key: str, at: Pointer) -> str:
        """The string under a required key."""
        value = self.optional(holder, key, at)
        return value if value is not None else self.stop(at, MISSING)

    def optional(self, holder: Any, key: str, at: Pointer) -> str | None:
        """The string under an optional key; stops if it has another type."""
        if not (isinstance(holder, dict) and key in holder):
            return None
        value = holder[key]
        return value if isinstance(value, str) else self.stop((*at, key), MISSING)

    def tolerated(self, holder: Any, key: str, at: Pointer) -> str | None:
        """As `optional`, but a value of another type is reported and treated as absent."""
        value = holder.get(key) if isinstance(holder, dict) else None
        if isinstance(value, str):
            return value
        if isinstance(holder, dict) and key in holder:
            self.report(MISSING, (*at, key))
        return None

    def non_empty(self, holder: Any, key: str, at: Pointer) -> Any:
        """The value under a key, of any type but not empty."""
        value = holder.get(key) if isinstance(holder, dict) else None
        return value if size(value) else self.stop((*at, key))

    def items(self, value: Any, at: Pointer, code: str | None = None) -> list[Any]:
        """The items of a list; stops if the value is not a list."""
        return value if isinstance(value, list) else self.stop(at, code)

    def unsigned(self, text: str, at: Pointer, code: str | None = None) -> int:
        """A non-negative integer."""
        value = number(text)
        return value if value is not None else self.stop(at, code)

    def signed(self, text: str, at: Pointer) -> int:
        """A signed integer of 32 bits."""
        value = _leading(text)
        return value if value is not None and -MAX_SIGNED - 1 <= value <= MAX_SIGNED else self.stop(at)

    def address(self, text: str, at: Pointer) -> Address:
        """An IP address of any family; for HCCL it ends at a NUL character before the "%" of an interface."""
        if "\0" in text:
            plain, percent, interface = text.partition("%")
            text = plain.partition("\0")[0] + percent + interface
        return parse_address(text) or self.stop(at, INVALID)

    def unique(self, name: str, pool: set[str], at: Pointer) -> None:
        """Add a name to the pool; stops if it is a duplicate."""
        if name in pool:
            self.stop(at, INVALID)
        pool.add(name)


def size(value: Any) -> int:
    """The number of items that HCCL counts in a value: 0 for null, 1 for a string or number."""
    return len(value) if isinstance(value, (list, dict)) else 0 if value is None else 1


def number(text: str) -> int | None:
    """The integer from 0 to 2^32 - 1 at the start of a text, after white space and a sign; None without one.

    The rest of the text is ignored; a negative number is taken modulo 2^64.
    """
    if len(text) < 10 and text.isdecimal() and text.isascii():  # nearly every number
        return int(text)
    value = _leading(text)
    if value is None or abs(value) >= 2**64:
        return None
    return value % 2**64 if value % 2**64 <= MAX_UNSIGNED else None


def _leading(text: str) -> int | None:
    """The number at the start of a text; None if there is none or it has more than 20 digits."""
    match = re.match(_NUMBER, text)
    return int(f"{match[1]}0{match[2]}") if match else None
