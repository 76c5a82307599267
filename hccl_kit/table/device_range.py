"""A set of device ids in the notations that users write: `[4,8)`, `[0,7]`, `0-3,8-11`, `4,5,6,7` or `4`.

    range  = interval | list
    interval = "[" id "," id (")" | "]")      half-open or closed, as in mathematics
    list   = item ("," item)*;  item = id | id "-" id

White space between the parts is allowed. Digits are ASCII, ids go from 0 to MAX_ID.
"""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass

from hccl_kit.base.errors import ParseError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import spans

MAX_ID = 1023
"""More than any server has; ids are compared with it before a range is expanded."""

ACCEPTED = Message("table.range-accepted", 'accepted: "[4,8)", "[4,7]", "4-7", "4,5,6,7", "4"')

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
            raise _error(Message("table.range-empty", "the device range is empty"), text, 0)
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
            message = Message("table.range-id", "expected a device id, found {text}", text=_shown(token))
            raise self.error(message, column, len(token))
        if len(token) > len(str(largest)) or int(token) > largest:
            raise self.error(_too_large(token if len(token) <= 20 else token[:20] + "..."), column, len(token))
        return int(token), column

    def error(self, message: Message, column: int, width: int = 1, hint: Message | None = None) -> ParseError:
        return _error(message, self.text, column, width, hint)


def _error(message: Message, text: str, column: int, width: int = 1, hint: Message | None = None) -> ParseError:
    whole = Message("table.range", "{message}; {accepted}", message=message, accepted=ACCEPTED)
    if hint is None and (meant := _meant(text)):
        hint = Message("table.range.fix", 'did you mean "{range}"?', range=meant)
    return ParseError(whole, source=text, column=column, width=width, hint=hint)


def _meant(text: str) -> DeviceRange | None:
    """The range that differs only in full-width characters, or in brackets around a list: `［0，8）`, `[0-7]`."""
    plain = unicodedata.normalize("NFKC", text).replace("、", ",").strip()
    bare = plain[1:-1] if plain.startswith("[") and plain.endswith("]") else plain
    for spelling in (plain, bare):
        if spelling != text:
            with suppress(ParseError):
                return DeviceRange.parse(spelling)
    return None


def _too_large(device_id: str | int) -> Message:
    return Message("table.range-too-large", "device id {device} is larger than {most}", device=device_id, most=MAX_ID)


def _shown(token: str) -> str:
    return repr(token) if token else Message("table.range-at-end", "the end")


def _interval(scanner: _Scanner) -> range:
    opening, opening_column = scanner.take()
    low, low_column = scanner.number()
    comma, column = scanner.take()
    if comma != ",":
        message = Message("table.range-comma", "expected ',' between the two ends, found {text}", text=_shown(comma))
        raise scanner.error(message, column, len(comma))
    high, high_column = scanner.number(MAX_ID + 1)
    closing, column = scanner.take()
    if closing not in (")", "]"):
        message = Message(
            "table.range-end", "expected ')' or ']' after the last id, found {text}", text=_shown(closing)
        )
        raise scanner.error(message, column, len(closing))
    if closing == "]" and high > MAX_ID:
        raise scanner.error(_too_large(high), high_column, len(str(high)))
    rest, column = scanner.take()
    if rest:
        message = Message("table.range-rest", "unexpected text after the range: {text!r}", text=rest)
        raise scanner.error(message, column, len(rest))
    if opening == "(":
        hint = Message("table.range-start.fix", 'did you mean "[{first},{end})"?', first=low, end=high)
        raise scanner.error(Message("table.range-start", "a range starts with '['"), opening_column, hint=hint)
    ids = range(low, high + 1 if closing == "]" else high)
    if not ids:
        message = Message("table.range-nothing", "{range} is empty", range=f"[{low},{high}{closing}")
        hint = Message("table.range-nothing.fix", 'did you mean "[{first},{end})"?', first=low, end=low + 1)
        width = high_column + len(str(high)) - low_column
        raise scanner.error(message, low_column, width, hint if low == high else None)
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
            message = Message("table.range-backwards", "{first}-{last} runs backwards", first=low, last=high)
            hint = Message("table.range-backwards.fix", 'did you mean "{first}-{last}"?', first=high, last=low)
            raise scanner.error(message, low_column, width, hint)
        duplicates = ids.intersection(range(low, high + 1))
        if duplicates:
            message = Message("table.range-twice", "device {device} is listed twice", device=min(duplicates))
            raise scanner.error(message, low_column, width)
        ids.update(range(low, high + 1))
        separator, column = scanner.take()
        if not separator:
            return ids
        if separator != ",":
            message = Message("table.range-separator", "expected ',' or '-', found {text!r}", text=separator)
            raise scanner.error(message, column, len(separator))
