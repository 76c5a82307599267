"""Parse what the flight recorder of a rank wrote: its first three lines, and its curve. The content is not trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from hccl_kit.base.schemas import object_in
from hccl_kit.base.terminal import printable
from hccl_kit.runtime.flight_recorder import ENTRY, HEAD
from hccl_kit.runtime.pulse import POINTS, RECENT, Point, Span

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


class Record(NamedTuple):
    """What a rank reports about itself; None or empty if it is not reported. Texts have no control characters."""

    ranks: int | None = None
    host: str = ""
    device: int | None = None
    start: float | None = None
    alive: float | None = None
    step: int = 0
    doing: str = ""
    since: float | None = None
    idle: float | None = None
    loss: float | None = None
    memory: int | None = None
    windows: tuple[Span, ...] = ()
    ended: str = ""
    message: str = ""


def record(data: bytes) -> Record | None:
    """The start of a file; None if its first line is incomplete, as while the file is created."""
    head, alive, ended = (_object(data[at : at + HEAD]) for at in (0, HEAD, 2 * HEAD))
    if head is None or whole(head.get("rank")) is None:
        return None
    alive, ended = alive or {}, ended or {}
    windows = alive.get("windows")
    rows = windows[:RECENT] if isinstance(windows, list) else []
    return Record(
        ranks=whole(head.get("ranks"), 1 << 24),
        host=text(head.get("host"), 64),
        device=whole(head.get("device"), 1 << 24),
        start=seconds(head.get("start")),
        alive=seconds(alive.get("alive")),
        step=whole(alive.get("step")) or 0,
        doing=text(alive.get("doing"), 40),
        since=seconds(alive.get("since")),
        idle=seconds(alive.get("idle")),
        loss=number(alive.get("loss")),
        memory=whole(alive.get("memory"), _MAX_BYTES),
        windows=tuple(window for row in rows if (window := span(row)) is not None),
        ended=text(ended.get("ended"), 40),
        message=text(ended.get("message"), MAX_TEXT),
    )


def curve(data: bytes) -> tuple[Point, ...]:
    """The points of the run; lines that are not points are left out."""
    lines = (data[at : at + ENTRY] for at in range(0, min(len(data), CURVE_BYTES), ENTRY))
    points = (point(row.get("curve")) for line in lines if (row := _object(line)) is not None)
    return tuple(filter(None, points))


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


def _object(line: bytes) -> dict[str, Any] | None:
    """The object in a line that ends with a line break; None if there is none, or only half of it."""
    return object_in(line) if line.startswith(b"{") and line.endswith(b"\n") else None
