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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hccl_kit.selftest.bandwidth import OPERATORS, Operator

if TYPE_CHECKING:  # a rank does not need asyncio
    from asyncio import StreamReader

SOCKET = "HCCL_KIT_SELFTEST_SOCKET"
"""The path of the Unix socket at which the agent of a server waits for its ranks."""
ADDRESS = "HCCL_KIT_SELFTEST_ADDRESS"
"""The address of this server for the other servers."""
HEARTBEAT = 0.5
"""Seconds between two signs of life of a rank."""
MAX_LINE = 1 << 20
"""Bytes of a message."""
MAX_TEXT = 300
"""Characters of a text that is shown."""
MAX_ERRORS = 1 << 16
"""Bytes at the end of what a process writes to its standard error."""
_LEAST, _MOST, _LARGEST = 1e-9, 1e12, 1 << 38
"""Limits of times and rates, and of bytes, so that every bandwidth is finite and fits into a report."""

Message = Mapping[str, Any]


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


async def keep_end(stream: StreamReader, end: bytearray) -> None:
    """Read a stream whole, and keep its last MAX_ERRORS bytes in `end`."""
    while piece := await stream.read(MAX_ERRORS):
        end += piece
        del end[:-MAX_ERRORS]


def encode(message: Message) -> bytes:
    """The message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message | None:
    """The message of a line; None if it is not one."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def result_of(message: Message) -> Result:
    """The result in a message of a rank; one with a problem if it is not of the form."""
    try:
        timings = tuple(
            Timing(_size(one["size"]), _number(one["seconds"]), _number(one["fast"]), one["wrong"] is True)
            for one in message["timings"]
        )
        values = tuple(map(_number, message["values"]))
        return Result(timings, values, text_of(message["problem"]))
    except (KeyError, TypeError, ValueError):
        return Result(problem="its result cannot be read; is another version of hccl-kit there?")


def skipped_of(message: Message) -> tuple[Operator, ...]:
    """The operators that a rank does not have."""
    found = message.get("skipped")
    return tuple(name for name in OPERATORS if isinstance(found, Sequence) and name in found)


def stopped_of(message: Message) -> float:
    """The part of the last second in which a process was stopped; 0 if the message does not say."""
    value = message.get("stopped")
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else 0.0


def text_of(value: object) -> str:
    """A text for people, cut to one line of MAX_TEXT characters."""
    words = value.split() if isinstance(value, str) else []
    return " ".join(words)[:MAX_TEXT]


def _size(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= _LARGEST:
        raise ValueError
    return value


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not _LEAST <= value < _MOST:
        raise ValueError
    return float(value)
