"""What passes between the selftest and its ranks: a JSON object on a line, in both directions.

To a rank:    {"do": "collective", "step": 3, "operator": ..., "sizes": [...], "groups": [[0, 1]], "seconds": 0.3}
              {"do": "compute", "step": 4, "seconds": 0.3}
              {"do": "put", "key": ..., "value": ..., "to": [0, 1]}          what another rank has put
From a rank or its agent: the fields of an Event, with its kind as "event"

Ranks find each other through these messages too ("put"), so no store listens at a port.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, TypeGuard, get_args

from hccl_kit.base.message import Message
from hccl_kit.base.schemas import object_in
from hccl_kit.selftest.measured import OPERATORS, Operator

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
Kind = Literal["alive", "loaded", "ready", "state", "result", "put", "gone"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Timing(NamedTuple):
    """The time of one call on one rank: the mean, and the 10th percentile, which other programs disturb less.

    `is_wrong`: its result was wrong there.
    """

    size: int
    seconds: float
    fast: float
    is_wrong: bool


class Result(NamedTuple):
    """What a rank measured in a step; `values` of a compute step: GFLOP/s and GB/s. `problem` ended it early."""

    timings: tuple[Timing, ...] = ()
    values: tuple[float, ...] = ()
    problem: str = ""


class Event(NamedTuple):
    """What a rank or its agent reports; which of the fields it has depends on its kind.

    "ready": the rank waits for its first step, and does not have the operators `skipped`. "state": the part of the last
    second in which its process was `stopped` by a signal. "result": that of a step. "put": a text for other ranks.
    "gone": its process has ended. "loaded": it has loaded its framework. All are signs of life, "alive" nothing else.
    """

    rank: int
    kind: Kind = "alive"
    skipped: tuple[Operator, ...] = ()
    stopped: float = 0.0
    step: int = 0
    result: Result | None = None
    key: str = ""
    value: str = ""
    to: tuple[int, ...] = ()
    detail: str = ""


def encode(fields: Fields) -> bytes:
    """The object as a line."""
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def event_of(line: bytes) -> Event | None:
    """What a line of a rank or an agent reports; None if it names no rank. Lines are not trusted.

    By hand and not by a schema: each rank sends three lines a second, and these modules run in the ranks too. A field
    that is not of the form is left out; a result that is not of the form is one with a problem.
    """
    fields = object_in(line) or {}
    rank, step, stopped = (fields.get(name) for name in ("rank", "step", "stopped"))
    if not _is_whole(rank):
        return None
    kind: Kind = next((kind for kind in KINDS if kind == fields.get("event")), "alive")
    skipped, to = (value if isinstance(value := fields.get(name), list) else [] for name in ("skipped", "to"))
    key, value = (text if isinstance(text := fields.get(name), str) else "" for name in ("key", "value"))
    return Event(
        rank,
        kind,
        tuple(name for name in OPERATORS if name in skipped),
        float(stopped) if isinstance(stopped, int | float) and 0 <= stopped <= 1 else 0.0,
        step if _is_whole(step) else 0,
        _result(fields) if kind == "result" else None,
        key,
        value,
        tuple(filter(_is_whole, to)),
        text_of(fields.get("detail")),
    )


def text_of(value: object) -> str:
    """A text for people, cut to one line of MAX_TEXT characters."""
    words = value.split() if isinstance(value, str) else []
    return " ".join(words)[:MAX_TEXT]


def _result(fields: Fields) -> Result:
    try:
        timings = tuple(
            Timing(_size(row["size"]), _number(row["seconds"]), _number(row["fast"]), row["is_wrong"] is True)
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
