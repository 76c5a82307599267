"""How HCCL's parser of versions 1.x takes values from a document, and the error codes if it cannot.

A string that is missing or of another type is EI0017. A list or object must only be non-empty, and no code is reported
if it is empty; a string or number counts as a list with one item, in which no key is found.
"""

import re
from typing import Any, NoReturn

from hccl_kit.table.bounds import MAX_SIGNED, MAX_UNSIGNED
from hccl_kit.table.finding import INVALID, MISSING, NO_CODE
from hccl_kit.table.ip import Address, parse_address

_NUMBER = r"[ \t\n\v\f\r]*([+-]?)0*([0-9]{0,20})(?<=[0-9])(?![0-9])"


class StopError(Exception):
    """HCCL stops reading."""


class Reading:
    """The first code reported so far. HCCL does not stop at every error, such as a `device_ip` of another type."""

    def __init__(self) -> None:
        self.code: str | None = None

    def report(self, code: str) -> None:
        """Report a code without stopping; only the first one is kept."""
        if self.code is None:
            self.code = code

    def stop(self, code: str = NO_CODE) -> NoReturn:
        """Stop, with an error code or without one."""
        self.report(code)
        raise StopError

    def text(self, holder: Any, key: str) -> str:
        """The string under a required key."""
        value = self.optional(holder, key)
        return value if value is not None else self.stop(MISSING)

    def optional(self, holder: Any, key: str) -> str | None:
        """The string under an optional key; stops if it has another type."""
        if not (isinstance(holder, dict) and key in holder):
            return None
        value = holder[key]
        return value if isinstance(value, str) else self.stop(MISSING)

    def tolerated(self, holder: Any, key: str) -> str | None:
        """As `optional`, but a value of another type is reported and treated as absent."""
        if not (isinstance(holder, dict) and key in holder):
            return None
        if isinstance(holder[key], str):
            return str(holder[key])
        self.report(MISSING)
        return None

    def non_empty(self, holder: Any, key: str) -> Any:
        """The value under a key, of any type but not empty."""
        value = holder.get(key) if isinstance(holder, dict) else None
        return value if size(value) else self.stop()

    def items(self, value: Any, code: str = NO_CODE) -> list[Any]:
        """The items of a list; stops if the value is not a list."""
        return value if isinstance(value, list) else self.stop(code)

    def unsigned(self, text: str, code: str = NO_CODE) -> int:
        """A non-negative integer."""
        value = number(text)
        return value if value is not None else self.stop(code)

    def signed(self, text: str) -> int:
        """A signed integer of 32 bits."""
        value = _leading(text)
        return value if value is not None and -MAX_SIGNED - 1 <= value <= MAX_SIGNED else self.stop()

    def address(self, text: str) -> Address:
        """An IP address of any family; for HCCL it ends at a NUL character before the "%" of an interface."""
        if "\0" in text:
            plain, percent, interface = text.partition("%")
            text = plain.partition("\0")[0] + percent + interface
        return parse_address(text) or self.stop(INVALID)

    def unique(self, name: str, pool: set[str]) -> None:
        """Add a name to the pool; stops if it is a duplicate."""
        if name in pool:
            self.stop(INVALID)
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
