"""A line in which a row of the table was found, and how the values in it are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import NamedTuple

from hccl_kit.diagnosis.facts import MAX_RANK, Card, Fact

MAX_WORD = 512
"""Characters of a name or address that are kept."""

_FIELD = re.compile(r"([A-Za-z_]{1,40}) ?:? ?\[([^\[\]]{0,4096})\]")
_PLAIN = re.compile(r"\b([A-Za-z]{3,40}): ?([^\s,:\[\](){}]{1,512})(?=[,.\s])")
_CARD = re.compile(r"(?P<server>[^\s/\[\]]{1,255})/(?P<physical>[0-9]{1,6})")
NO_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - a text in logs, nothing listens on it
_RANK = re.compile(r"[0-9]{1,10}")


class LogMessage(NamedTuple):
    """A message of a log, and where a row's pattern matches it.

    `level` is None for a line of a program, else that of its header. `time` is in seconds since 1970, `rank` and
    `server` are what the line, or what a launcher put before it, names. `is_whole`: the end of the line is its end.
    """

    text: str
    match: re.Match[str]
    level: str | None = None
    is_whole: bool = True
    time: float | None = None
    rank: int | None = None
    server: str | None = None

    @property
    def shown(self) -> str:
        """The text as it is kept in a fault."""
        return self.text[:MAX_WORD].strip()

    def value(self, name: str) -> str | None:
        """The group of the pattern with this name; None if this pattern of the row has no such group, or no value."""
        return self.match.groupdict().get(name) or None

    def number(self, name: str) -> int | None:
        """Like `value`, as a number."""
        return number(self.value(name))

    def fields(self) -> Fields:
        """The `name[value]` pairs from the match on."""
        return Fields.of(self.text[self.match.start() :])


Maker = Callable[[LogMessage], Iterable[Fact]]
"""What a message states; nothing if the values in it state nothing."""


def whole(make: Maker) -> Maker:
    """A maker for messages that state nothing if their end is cut off."""

    @wraps(make)
    def make_if_whole(message: LogMessage) -> Iterator[Fact]:
        if message.is_whole:
            yield from make(message)

    return make_if_whole


class Fields(NamedTuple):
    """The pairs `name[value]`, `name:[value]` and `name:value` of a text, by their names in lower case.

    The first one counts, and one in brackets more than one without.
    """

    values: Mapping[str, str]

    @classmethod
    def of(cls, text: str) -> Fields:
        """The pairs of a text."""
        values: dict[str, str] = {}
        for name, value in (*_FIELD.findall(text), *_PLAIN.findall(text)):
            values.setdefault(name.lower(), value.strip())
        return cls(values)

    def text(self, *names: str) -> str | None:
        """The value of the first of `names` that is there and not empty."""
        return next((value[:MAX_WORD] for name in names if (value := self.values.get(name))), None)

    def number(self, *names: str) -> int | None:
        """Like `text`, for a number below 2^63; 0x... is hexadecimal."""
        return number(self.text(*names))

    def rank(self, *names: str) -> int | None:
        """Like `text`, for a rank."""
        return rank(self.text(*names))


def number(text: str | None) -> int | None:
    """A number of at most 18 digits, or None."""
    if text and re.fullmatch(r"[0-9]{1,18}", text, re.ASCII):
        return int(text)
    if text and re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text):
        return int(text, 16)
    return None


def rank(text: str | None) -> int | None:
    """A rank or the number of a card, or None for a value that means none, such as 4294967295."""
    value = int(text) if text and _RANK.fullmatch(text) else None
    return value if value is not None and value < MAX_RANK else None


def server(text: str | None) -> str | None:
    """An address without the network interface: 10.0.0.1%eth0 is 10.0.0.1."""
    return (text or "").split("%")[0].strip()[:MAX_WORD] or None


def address(text: str | None) -> str | None:
    """The address of a card; zeros mean that it has none."""
    name = server(text)
    return None if name in NO_ADDRESS else name


def card(text: str | None) -> Card:
    """`server/number`, or a server alone."""
    if match := _CARD.fullmatch(text or ""):
        return Card(server(match["server"]), int(match["physical"]))
    return Card(server(text))


def result(text: str | None) -> int | None:
    """The HcclResult in errNo or return[0x...]: the low byte."""
    value = number(text)
    return None if value is None else value & 0xFF


_GROUP = re.compile(
    r"group_name_[0-9]{1,10}|hccl_world_group|[0-9A-Fa-f.:]{2,45}%\w{1,32}_[0-9]{1,5}_[0-9]{1,6}_[0-9]{16}\b"
)


def group_of_tag(tag: str | None) -> str | None:
    """The communicator that the tag of an operator names, or None."""
    match = _GROUP.search(tag or "")
    return match[0] if match else None
