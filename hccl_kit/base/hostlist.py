"""Host lists in Slurm's notation: `node[01-04,7]` <-> node01, node02, node03, node04, node7.

    list   = item ("," item)*
    item   = (text | "[" ranges "]")+        with several brackets, the last one varies fastest
    ranges = range ("," range)*
    range  = number | number "-" number      leading zeros are kept: [08-11] is 08, 09, 10, 11

A name is any text without white space, comma or bracket, so `10.0.0.[1-4]` and `fd00::[1-4]` are lists too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, product
from math import prod

from hccl_kit.base.errors import KitError, ParseError
from hccl_kit.base.message import Message

MAX_HOSTS = 65_536
"""The largest job of HCCL; names are counted before they are created."""
MAX_NAME = 255
"""Characters of one name, as in the DNS."""

ACCEPTED = Message(
    "base.hostlist-accepted", 'accepted: "node1", "node1,node2", "node[01-16]", "rack[1-2]-node[01-04,7]"'
)

_TOKEN = re.compile(r"([^\s,\[\]]+)|(.)", re.DOTALL)
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_NUMBERED = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)
_UNFIT = re.compile(r"[\s,\[\]]")
_Part = str | tuple[tuple[int, int, int], ...]
"""A constant part of a name; or a numbered one: `(first, last, minimum digits)` of every range."""


def expand(text: str) -> tuple[str, ...]:
    """The names in the list `text`, in its order, with duplicates. Raises ParseError with the column of the error."""
    names: list[str] = []
    for item, column in _items(text):
        count = prod(map(_count, item))
        width = sum(map(_width, item))
        if len(names) + count > MAX_HOSTS:
            message = Message("base.hostlist-length", "the list names more than {most} hosts", most=MAX_HOSTS)
            raise _error(message, text, column)
        if width > MAX_NAME:
            message = Message(
                "base.hostlist-name-length",
                "a name of {width} characters is longer than {most}",
                width=width,
                most=MAX_NAME,
            )
            raise _error(message, text, column)
        names += map("".join, product(*map(_texts, item)))
    return tuple(names)


def fold(names: Sequence[str]) -> str:
    """The short form of `names`, in their order. Law: `expand(fold(names)) == names`.

    Raises KitError if `names` is empty, or if a name is empty or contains a character of the grammar.
    """
    if not names:
        raise KitError("base.hostlist-empty", "a host list needs at least one host")
    for name in names:
        if not name or len(name) > MAX_NAME or _UNFIT.search(name):
            raise KitError(
                "base.hostlist-name",
                "{name!r} is not a valid name in a host list; {accepted}",
                name=name[:MAX_NAME],
                accepted=ACCEPTED,
            )
    split = [match.groups() if (match := _NUMBERED.fullmatch(name)) else (name, "", "") for name in names]
    groups = groupby(split, key=lambda parts: (parts[0], parts[2], bool(parts[1])))
    return ",".join(
        head + _fold_numbers([digits for _, digits, _ in group]) + tail if has_number else ",".join(map("".join, group))
        for (head, tail, has_number), group in groups
    )


def _count(part: _Part) -> int:
    return 1 if isinstance(part, str) else sum(last - first + 1 for first, last, _ in part)


def _width(part: _Part) -> int:
    return len(part) if isinstance(part, str) else max(max(digits, len(str(last))) for _, last, digits in part)


def _texts(part: _Part) -> Iterable[str]:
    if isinstance(part, str):
        return [part]
    return (f"{number:0{digits}}" for first, last, digits in part for number in range(first, last + 1))


def _items(text: str) -> Iterator[tuple[list[_Part], int]]:
    """Every item as its parts, and the column where it starts."""
    parts: list[_Part] = []
    tokens = _TOKEN.finditer(text)
    start = 0
    for token in tokens:
        word, sign = token.groups()
        if word:
            parts.append(word)
        elif sign == "[":
            closing = text.find("]", token.end())
            if closing < 0:
                raise _error(Message("base.hostlist-open", "the bracket is not closed"), text, token.start())
            parts.append(_bracket(text, token.end(), closing))
            while next(tokens).end() <= closing:
                pass
        elif sign == "," and parts:
            yield parts, start
            parts, start = [], token.end()
        else:
            missing = Message("base.hostlist-comma", "a name is missing before ','")
            refused = Message("base.hostlist-sign", "{sign!r} is not allowed here", sign=sign)
            raise _error(missing if sign == "," else refused, text, token.start())
    if not parts:
        missing = Message("base.hostlist-end", "a name is missing at the end")
        raise _error(missing if text else Message("base.hostlist-nothing", "the host list is empty"), text, len(text))
    yield parts, start


def _bracket(text: str, start: int, end: int) -> _Part:
    """The ranges between two brackets: the text from `start` to `end`."""
    ranges = []
    column = start
    for written in text[start:end].split(","):
        match = _RANGE.fullmatch(written)
        if not match:
            message = Message(
                "base.hostlist-number",
                "expected a number or a range such as 01-16, found {text}",
                text=repr(written[:40]) if written else Message("base.hostlist-no-number", "nothing"),
            )
            raise _error(message, text, column, max(1, len(written)))
        ranges.append(_range(text, column, match))
        column += len(written) + 1
    return tuple(ranges)


def _range(text: str, column: int, match: re.Match[str]) -> tuple[int, int, int]:
    low, high = match[1], match[2] or match[1]
    if max(len(low), len(high)) > MAX_NAME:
        digits = max(len(low), len(high))
        message = Message("base.hostlist-digits", "a number of {digits} digits is too long", digits=digits)
        raise _error(message, text, column)
    first, last = int(low), int(high)
    if last < first:
        message = Message("base.hostlist-backwards", "{range} runs backwards", range=match[0])
        hint = Message("base.hostlist-backwards.fix", 'did you mean "{first}-{last}"?', first=high, last=low)
    elif len(high) < len(low) or (high.startswith("0") and len(high) > len(low)):
        message = Message(
            "base.hostlist-zeros", "the two ends of {range} have different numbers of leading zeros", range=match[0]
        )
        padded = [f"{number:0{len(low)}}" for number in (first, last)]
        hint = Message("base.hostlist-zeros.fix", 'did you mean "{first}-{last}"?', first=padded[0], last=padded[1])
    else:
        return first, last, len(low)
    raise _error(message, text, column, len(match[0]), hint)


def _fold_numbers(written: Sequence[str]) -> str:
    """Consecutive numbers as `[01-04,7]`; a single number without brackets."""
    runs: list[tuple[str, str]] = []
    for digits in written:
        if runs:
            first, last = runs[-1]
            if digits == f"{int(last) + 1:0{len(first)}}":
                runs[-1] = first, digits
                continue
        runs.append((digits, digits))
    texts = [first if first == last else f"{first}-{last}" for first, last in runs]
    return texts[0] if len(written) == 1 else f"[{','.join(texts)}]"


def _error(message: Message, text: str, column: int, width: int = 1, hint: Message | None = None) -> ParseError:
    whole = Message("base.hostlist", "{message}; {accepted}", message=message, accepted=ACCEPTED)
    return ParseError(whole, source=text, column=column, width=width, hint=hint)
