"""Parse what the flight recorder of a rank wrote: its first three lines, and its curve. The content is not trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hccl_kit.base.schemas import object_in
from hccl_kit.base.terminal import printable
from hccl_kit.runtime.flight_recorder import ENTRY, HEAD
from hccl_kit.runtime.pulse import POINTS, Point, Span

HEAD_BYTES = 3 * HEAD
"""Bytes of the three lines on the state of a rank, at the start of its file."""
CURVE_BYTES = POINTS * ENTRY
MAX_TEXT = 300
_MAX_STEP = 10**18
_MAX_SECONDS = 1e12
_NUMBERS = (int, float)
"""The types of a number of JSON; the type of true and false is a subclass of int."""
SHORTEST = 1e-6
"""Seconds of a window: a shorter one has no speed."""
_MAX_BYTES = 1 << 62
_MAX_WINDOWS = 8

Row = Mapping[str, Any]

Rows = tuple[Row, Row, Row]
"""The first three lines of a file: who the rank is, its last sign of life, its end; empty if a line is not whole."""


def rows(data: bytes) -> Rows | None:
    """The start of a file; None if its first line is incomplete, as while the file is created."""
    head, alive, end = (_object(data[at : at + HEAD]) for at in (0, HEAD, 2 * HEAD))
    return None if whole(head.get("rank")) is None else (head, alive, end)


def fields(row: Row) -> dict[str, Any]:
    """What a rank reports about itself, as fields of a WatchedRank; None or empty if it is not reported."""
    windows = row.get("windows")
    return {
        "host": text(row.get("host"), 64),
        "device": whole(row.get("device"), 1 << 24),
        "step": whole(row.get("step")),
        "doing": text(row.get("doing"), 40),
        "loss": number(row.get("loss")),
        "memory": whole(row.get("memory"), _MAX_BYTES),
        "windows": tuple(filter(None, map(span, windows[:_MAX_WINDOWS] if isinstance(windows, list) else ()))),
    }


def curve(data: bytes) -> tuple[Point, ...]:
    """The points of the run; lines that are not points are left out."""
    lines = (data[at : at + ENTRY] for at in range(0, min(len(data), CURVE_BYTES), ENTRY))
    return tuple(filter(None, (point(_object(line).get("curve")) for line in lines)))


def point(row: Any) -> Point | None:
    """A point of a curve: time, a window, mean loss, memory; None if it is not one."""
    if not isinstance(row, list) or len(row) != 9:
        return None
    at, window, memory = seconds(row[0]), span(row[1:7], number(row[7])), whole(row[8], _MAX_BYTES)
    return None if at is None or window is None or memory is None else Point(at, window, memory)


def span(row: Any, loss: float | None = None) -> Span | None:
    """A window: last step, number of steps, seconds, data, compute, communication; None if it is not one.

    `loss` is its mean loss, if it has one.
    """
    if not isinstance(row, list) or len(row) != 6:
        return None
    step, steps = whole(row[0]), whole(row[1])
    parts = [part for value in row[2:] if (part := seconds(value)) is not None]
    if step is None or not steps or len(parts) < 4 or parts[0] < SHORTEST:
        return None
    total, data, compute, communication = parts
    return Span(step, steps, total, data, compute, communication, loss or 0.0, int(loss is not None))


def whole(value: Any, limit: int = _MAX_STEP) -> int | None:
    """A whole number from 0 to the limit."""
    return value if type(value) is int and 0 <= value <= limit else None


def seconds(value: Any) -> float | None:
    """A time or a duration, finite and not negative."""
    return float(value) if type(value) in _NUMBERS and 0 <= value <= _MAX_SECONDS else None


def number(value: Any) -> float | None:
    """Any number; NaN and infinity come as text, since JSON has neither."""
    if isinstance(value, str) and value in ("nan", "inf", "-inf"):
        return float(value)
    if type(value) not in _NUMBERS:
        return None
    try:
        parsed = float(value)
    except OverflowError:
        return None
    return parsed if math.isfinite(parsed) else None


def text(value: Any, limit: int = MAX_TEXT) -> str:
    """The start of a text without control characters; empty for anything else."""
    return printable(value[:limit]) if isinstance(value, str) else ""


def last_line(data: bytes) -> str:
    """The last line that is not blank at the end of a log; of a progress bar, its last state."""
    pieces: Sequence[bytes] = data.replace(b"\r", b"\n").split(b"\n")
    line = next((piece for piece in reversed(pieces) if piece.strip()), b"")
    return printable(line.decode("utf-8", "replace").strip()[:MAX_TEXT])


def _object(line: bytes) -> Row:
    """The object in a line that ends with a line break; empty if there is none, or only half of it."""
    return (object_in(line) if line.startswith(b"{") and line.endswith(b"\n") else None) or {}
