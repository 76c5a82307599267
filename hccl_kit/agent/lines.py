"""What the starter of a job and the agents of its servers say to each other: JSON, a line each.

The starter sends the assignment, then orders; the agent sends reports. An empty line is a sign of life.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar, Union

from hccl_kit.agent.job import Clear, Exited, Gone, Hung, Send, Start

LIFE = b"\n"
SIGN, SILENCE = 1.0, 8.0
"""Seconds between two signs of life, and without one until the other side counts as lost."""
LONGEST = 1 << 20
"""Bytes of a report."""
MOST_RANKS = 1 << 20
_PIECE = 1 << 14
_T = TypeVar("_T")


# Orders, besides Start, Send and Clear.
class PassOn(NamedTuple):
    """Pass a signal of the user on to the ranks; the job goes on."""

    number: int


class Note(NamedTuple):
    """Add words to the notes of the server."""

    words: str


class Describe(NamedTuple):
    """Report what is said of a failed job; `is_shown`: the output of the rank ends the screen."""

    cause: Exited | Hung
    is_shown: bool


class End(NamedTuple):
    """The job is over."""


# Reports, besides Exited and Hung.
class Ready(NamedTuple):
    """The agent has its assignment; `is_here`: it sees the log folder of the starter."""

    is_here: bool


class Refused(NamedTuple):
    """The agent cannot start: `text` says why, and what to do."""

    text: str


class Started(NamedTuple):
    """The ranks were started, with rank 0 at `port`."""

    port: int


class Output(NamedTuple):
    """What a rank has printed."""

    rank: int
    data: bytes


class Said(NamedTuple):
    """A message of the agent for the user, on standard output or standard error (1, 2)."""

    text: str
    to: int


class Left(NamedTuple):
    """Nothing is left of the ranks: `gone`, and the seconds since the first failed by what it wrote."""

    gone: Gone
    age: float


class Failure(NamedTuple):
    """The answer to Describe."""

    text: str


Order = Union[Start, Send, PassOn, Clear, Note, Describe, End]  # noqa: UP007 - Python 3.8
Report = Union[Ready, Refused, Started, Exited, Hung, Output, Said, Left, Failure]  # noqa: UP007


def line(message: Order | Report) -> bytes:
    """A message as a line."""
    value: dict[str, Any] = {"is": type(message).__name__}
    if isinstance(message, Describe):
        value.update(cause=_cause(message.cause), is_shown=message.is_shown)
    elif isinstance(message, Left):
        first = message.gone.first
        value.update(step=message.gone.step, first=_cause(first) if first else None, age=message.age)
    elif isinstance(message, Output):
        value.update(rank=message.rank, data=message.data.decode("utf-8", "surrogateescape"))
    else:
        value.update(message._asdict())
    return json.dumps(value).encode() + b"\n"


def outputs(rank: int, data: bytes) -> bytes:
    """Output as lines, none of which is too long."""
    return b"".join(line(Output(rank, data[at : at + _PIECE])) for at in range(0, len(data), _PIECE))


class Lines:
    """Cuts what comes into lines of at most `longest` bytes."""

    def __init__(self, longest: int = LONGEST) -> None:
        self.longest = longest
        self.rest = b""

    def cut(self, data: bytes) -> Iterator[bytes]:
        """The lines that are complete. Raises ValueError if one is too long."""
        *complete, self.rest = (self.rest + data).split(b"\n")
        if max(map(len, [*complete, self.rest])) > self.longest:
            raise ValueError(f"a line of more than {self.longest} bytes")
        yield from (text for text in complete if text.strip())


def order(text: bytes) -> Order:
    """The order of a line. Raises ValueError."""
    return _parsed(text, _ORDERS)


def report(text: bytes) -> Report:
    """The report of a line from another host. Raises ValueError."""
    return _parsed(text, _REPORTS)


def _parsed(text: bytes, kinds: Mapping[str, Callable[[dict[str, Any]], _T]]) -> _T:
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("not JSON") from None
    kind = value.get("is") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise ValueError("not a message")
    return kinds[kind](value)


def _start(value: dict[str, Any]) -> Start:
    port = None if value.get("port") is None else _number(value, "port", 65535)
    return Start(_number(value, "attempt"), port)


def _left(value: dict[str, Any]) -> Left:
    step = None if value.get("step") is None else _number(value, "step")
    first = None if value.get("first") is None else _cause_of(value["first"])
    age = value.get("age")
    if not isinstance(age, (int, float)) or not age >= 0 or isinstance(first, Hung):
        raise ValueError("not the end of ranks")
    return Left(Gone(step, first), float(age))


def _output(value: dict[str, Any]) -> Output:
    return Output(_number(value, "rank", MOST_RANKS), _text(value, "data").encode("utf-8", "surrogateescape"))


def _cause(cause: Exited | Hung) -> dict[str, Any]:
    return {"is": type(cause).__name__, **cause._asdict()}


def _cause_of(value: Any) -> Exited | Hung:
    if not isinstance(value, dict):
        raise ValueError("a cause is missing")
    if value.get("is") == "Exited":
        return Exited(_number(value, "rank", MOST_RANKS), _number(value, "code", 255))
    ranks = value.get("ranks")
    if not isinstance(ranks, list) or not ranks:
        raise ValueError("ranks are missing")
    return Hung(tuple(_number({"rank": rank}, "rank", MOST_RANKS) for rank in ranks), _number(value, "step"))


def _number(value: dict[str, Any], name: str, most: int = 10**18) -> int:
    number = value.get(name)
    if type(number) is not int or not 0 <= number <= most:
        raise ValueError(f"a number from 0 to {most} is missing: {name}")
    return number


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise ValueError(f"a text is missing: {name}")
    return text


_ORDERS: Mapping[str, Callable[[dict[str, Any]], Order]] = {
    "Start": _start,
    "Send": lambda value: Send(_number(value, "number", 64), bool(value.get("to_leaders"))),
    "PassOn": lambda value: PassOn(_number(value, "number", 64)),
    "Clear": lambda _: Clear(),
    "Note": lambda value: Note(_text(value, "words")),
    "Describe": lambda value: Describe(_cause_of(value.get("cause")), bool(value.get("is_shown"))),
    "End": lambda _: End(),
}
_REPORTS: Mapping[str, Callable[[dict[str, Any]], Report]] = {
    "Ready": lambda value: Ready(bool(value.get("is_here"))),
    "Refused": lambda value: Refused(_text(value, "text")),
    "Started": lambda value: Started(_number(value, "port", 65535)),
    "Exited": _cause_of,
    "Hung": _cause_of,
    "Output": _output,
    "Said": lambda value: Said(_text(value, "text"), 1 if value.get("to") == 1 else 2),
    "Left": _left,
    "Failure": lambda value: Failure(_text(value, "text")),
}
