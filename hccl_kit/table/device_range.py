"""A set of device ids in the notations that users write: `[4,8)`, `[0,7]`, `0-3,8-11`, `4,5,6,7` or `4`.

    range  = interval | list
    interval = "[" id "," id (")" | "]")      half-open or closed, as in mathematics
    list   = item ("," item)*;  item = id | id "-" id

White space between the parts is allowed. Digits are ASCII, ids go from 0 to MAX_ID.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hccl_kit.base.errors import ParseError
from hccl_kit.base.wording import spans

MAX_ID = 1023
"""More than any server has; ids are compared with it before a range is expanded."""

ACCEPTED = 'accepted: "[4,8)", "[4,7]", "4-7", "4,5,6,7", "4"'

_TOKEN = re.compile(r"\s*(?:([0-9]+)|(.))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class DeviceRange:
    """Device ids in ascending order, at least one, without duplicates.

    Law: `DeviceRange.parse(str(r)) == r`.
    """

    ids: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> DeviceRange:
        """Read `text`. Raises ParseError with the column of the error."""
        if not text.strip():
            raise ParseError("the device range is empty; " + ACCEPTED, source=text, column=0)
        scanner = _Scanner(text)
        ids = _interval(scanner) if scanner.peek() in ("[", "(") else _list(scanner)
        return cls(tuple(sorted(ids)))

    def __str__(self) -> str:
        """The canonical form: `[4,8)` for consecutive ids, `4` for one, `0-1,4` otherwise."""
        texts = spans(self.ids)
        return f"[{self.ids[0]},{self.ids[-1] + 1})" if len(texts) == 1 < len(self.ids) else ",".join(texts)


class _Scanner:
    """The tokens of the text: numbers and other characters, each with its column."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [(m.group(1) or m.group(2), m.start(m.lastindex or 0)) for m in _TOKEN.finditer(text.rstrip())]
        self.position = 0

    def peek(self) -> str:
        """The next token, or an empty string at the end."""
        return self.tokens[self.position][0] if self.position < len(self.tokens) else ""

    def take(self) -> tuple[str, int]:
        """The next token and its column; at the end, the empty string and the column after the text."""
        if self.position == len(self.tokens):
            return "", len(self.text.rstrip())
        self.position += 1
        return self.tokens[self.position - 1]

    def number(self, largest: int = MAX_ID) -> tuple[int, int]:
        token, column = self.take()
        if not re.fullmatch("[0-9]+", token):
            raise self.error(f"expected a device id, found {_shown(token)}", column, len(token))
        if len(token) > len(str(largest)) or int(token) > largest:
            shown = token if len(token) <= 20 else token[:20] + "..."
            raise self.error(f"device id {shown} is larger than {MAX_ID}", column, len(token))
        return int(token), column

    def error(self, message: str, column: int, width: int = 1, *, hint: str | None = None) -> ParseError:
        return ParseError(f"{message}; {ACCEPTED}", source=self.text, column=column, width=width, hint=hint)


def _shown(token: str) -> str:
    return repr(token) if token else "the end"


def _interval(scanner: _Scanner) -> range:
    opening, opening_column = scanner.take()
    low, low_column = scanner.number()
    comma, column = scanner.take()
    if comma != ",":
        raise scanner.error(f"expected ',' between the two ends, found {_shown(comma)}", column, len(comma))
    high, high_column = scanner.number(MAX_ID + 1)
    closing, column = scanner.take()
    if closing not in (")", "]"):
        raise scanner.error(f"expected ')' or ']' after the last id, found {_shown(closing)}", column, len(closing))
    if closing == "]" and high > MAX_ID:
        raise scanner.error(f"device id {high} is larger than {MAX_ID}", high_column, len(str(high)))
    rest, column = scanner.take()
    if rest:
        raise scanner.error(f"unexpected text after the range: {rest!r}", column, len(rest))
    if opening == "(":
        raise scanner.error("a range starts with '['", opening_column, hint=f'did you mean "[{low},{high})"?')
    ids = range(low, high + 1 if closing == "]" else high)
    if not ids:
        raise scanner.error(
            f"[{low},{high}{closing} is empty",
            low_column,
            high_column + len(str(high)) - low_column,
            hint=f'did you mean "[{low},{low + 1})"?' if low == high else None,
        )
    return ids


def _list(scanner: _Scanner) -> set[int]:
    ids: set[int] = set()
    while True:
        low, low_column = scanner.number()
        high, high_column = low, low_column
        if scanner.peek() == "-":
            scanner.take()
            high, high_column = scanner.number()
        width = high_column + len(str(high)) - low_column
        if high < low:
            raise scanner.error(f"{low}-{high} runs backwards", low_column, width, hint=f'did you mean "{high}-{low}"?')
        duplicates = ids.intersection(range(low, high + 1))
        if duplicates:
            raise scanner.error(f"device {min(duplicates)} is listed twice", low_column, width)
        ids.update(range(low, high + 1))
        separator, column = scanner.take()
        if not separator:
            return ids
        if separator != ",":
            raise scanner.error(f"expected ',' or '-', found {separator!r}", column, len(separator))
