"""What passes between the selftest and its ranks: a JSON object on a line, in both directions.

To a rank:    {"do": "collective", "step": 3, "operator": ..., "sizes": [...], "groups": [[0, 1]], "seconds": 0.3}
              {"do": "compute", "step": 4, "seconds": 0.3}
              {"do": "put", "key": ..., "value": ..., "to": [0, 1]}          what another rank has put
From a rank:  {"rank": 0, "event": "alive" | "loaded" | "ready" | "result" | "put" | "gone", ...}
From an agent: {"rank": 0, "event": "state", "stopped": 0.5}             the part of the last second

Ranks find each other through these messages too ("put"), so no store listens at a port.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from hccl_kit.base.message import Message
from hccl_kit.selftest.bandwidth import OPERATORS, Operator

SOCKET = "HCCL_KIT_SELFTEST_SOCKET"
"""The path of the Unix socket at which the agent of a server waits for its ranks."""
ADDRESS = "HCCL_KIT_SELFTEST_ADDRESS"
"""The address of this server for the other servers."""
HEARTBEAT = 0.5
"""Seconds between two signs of life of a rank."""
MAX_LINE = 1 << 20
"""Bytes of a line."""
MAX_TEXT = 300
"""Characters of a text that is shown."""
MAX_ERRORS = 1 << 16
"""Bytes at the end of what a process writes to its standard error."""
_LEAST, _MOST, _LARGEST = 1e-9, 1e12, 1 << 38
"""Limits of times and rates, and of bytes, so that every bandwidth is finite and fits into a report."""

Fields: TypeAlias = Mapping[str, Any]
"""The object on a line."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The time of one call on one rank: the mean, and the 10th percentile, which other programs disturb less.

    `is_wrong`: its result was wrong there.
    """

    size: int
    seconds: float
    fast: float
    is_wrong: bool


@dataclass(frozen=True, slots=True)
class Result:
    """What a rank measured in a step; `values` of a compute step: GFLOP/s and GB/s. `problem` ended it early."""

    timings: tuple[Timing, ...] = ()
    values: tuple[float, ...] = ()
    problem: str = ""


class Alive(NamedTuple):
    """A sign of life."""

    rank: int


class Loaded(NamedTuple):
    """The rank has loaded its framework."""

    rank: int


class Ready(NamedTuple):
    """The rank waits for its first step; `skipped` are the operators that it does not have."""

    rank: int
    skipped: tuple[Operator, ...] = ()


class Stopped(NamedTuple):
    """The part of the last second in which the process of the rank was stopped by a signal, from 0 to 1."""

    rank: int
    part: float


class Done(NamedTuple):
    """The result of a step."""

    rank: int
    step: int
    result: Result


class Put(NamedTuple):
    """A text for other ranks."""

    rank: int
    key: str
    value: str
    to: tuple[int, ...]


class Gone(NamedTuple):
    """The process of the rank has ended."""

    rank: int
    detail: str


Event: TypeAlias = Alive | Loaded | Ready | Stopped | Done | Put | Gone


def encode(fields: Fields) -> bytes:
    """The object as a line."""
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Fields | None:
    """The object on a line; None if it is not one."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def event_of(line: bytes) -> Event | None:
    """What a line of a rank or an agent reports; None if it names no rank. Lines are not trusted.

    By hand and not by a schema: each rank sends three lines a second, and these modules run in the ranks too. What is
    not of the form is a sign of life and nothing else; a result that is not of the form is one with a problem.
    """
    fields = decode(line) or {}
    rank = fields.get("rank")
    return _READERS.get(str(fields.get("event")), _alive)(rank, fields) if _is_whole(rank) else None


def text_of(value: object) -> str:
    """A text for people, cut to one line of MAX_TEXT characters."""
    words = value.split() if isinstance(value, str) else []
    return " ".join(words)[:MAX_TEXT]


def _alive(rank: int, _fields: Fields) -> Alive:
    return Alive(rank)


def _ready(rank: int, fields: Fields) -> Ready:
    names = fields.get("skipped")
    return Ready(rank, tuple(name for name in OPERATORS if isinstance(names, Sequence) and name in names))


def _stopped(rank: int, fields: Fields) -> Stopped:
    part = fields.get("stopped")
    return Stopped(rank, float(part) if isinstance(part, int | float) and 0 <= part <= 1 else 0.0)


def _done(rank: int, fields: Fields) -> Done:
    step = fields.get("step")
    return Done(rank, step if _is_whole(step) else 0, _result(fields))


def _put(rank: int, fields: Fields) -> Put | Alive:
    key, value, to = fields.get("key"), fields.get("value"), fields.get("to")
    if isinstance(key, str) and isinstance(value, str) and isinstance(to, list):
        return Put(rank, key, value, tuple(filter(_is_whole, to)))
    return Alive(rank)


_READERS: Mapping[str, Callable[[int, Fields], Event]] = {
    "loaded": lambda rank, _: Loaded(rank),
    "ready": _ready,
    "state": _stopped,
    "result": _done,
    "put": _put,
    "gone": lambda rank, fields: Gone(rank, text_of(fields.get("detail"))),
}


def _result(fields: Fields) -> Result:
    try:
        timings = tuple(
            Timing(_size(row["size"]), _number(row["seconds"]), _number(row["fast"]), row["wrong"] is True)
            for row in fields["timings"]
        )
        return Result(timings, tuple(map(_number, fields["values"])), text_of(fields["problem"]))
    except (KeyError, TypeError, ValueError):
        problem = Message(
            "selftest.result-not-read", "its result cannot be read; is another version of hccl-kit there?"
        )
        return Result(problem=problem)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _size(value: object) -> int:
    if not _is_whole(value) or not 0 < value <= _LARGEST:
        raise ValueError
    return value


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not _LEAST <= value < _MOST:
        raise ValueError
    return float(value)
