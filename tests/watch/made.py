"""Run folders in the format of the flight recorder, without processes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from hccl_kit.runtime.flight_recorder import ENTRY, HEAD, RING
from hccl_kit.runtime.pulse import POINTS

HOSTILE = "\x1b[2J\x1b]0;owned\x07 <script>alert(1)</script> [red]x[/red] \u202e \ud800"
"""Text that a terminal, a page, rich or a decoder must not interpret."""


def line(row: Any, length: int) -> bytes:
    return json.dumps(row).encode().ljust(length - 1) + b"\n"


def window(step: int, *, data: float = 0.1, compute: float = 1.0, communication: float = 0.1) -> list[float]:
    return [step, 10, data + compute + communication + 1.0, data, compute, communication]


def facts(
    folder: Path,
    rank: int = 0,
    *,
    ranks: int = 4,
    age: float = 0.0,
    step: int = 40,
    compute: float = 1.0,
    data: float = 0.1,
    ended: str | None = None,
    **more: Any,
) -> Path:
    """The file of a rank that has taken steps in windows of ten; `more` replaces values of its sign of life."""
    now = time.time() - age
    head = {
        "version": 1,
        "rank": rank,
        "ranks": ranks,
        "host": f"n{rank // 8}",
        "device": rank % 8,
        "pid": 1,
        "start": 1,
    }
    windows = [window(at, data=data, compute=compute) for at in range(step - 20, step + 1, 10)]
    alive = {"alive": now, "step": step, "doing": None, "since": None, "idle": 0.5, "loss": 1.5, "memory": 1 << 29}
    points = [[now - 100 + at, *window(at, data=data, compute=compute), 2.0, 1 << 29] for at in range(10, step + 1, 10)]
    end = {"ended": ended, "message": "no space left", "time": now} if ended else None
    path = folder / f"facts_{rank}.jsonl"
    text = line(head, HEAD) + line({**alive, "windows": windows, **more}, HEAD)
    text += line(end, HEAD) if end else b" " * (HEAD - 1) + b"\n"
    text += (b" " * (ENTRY - 1) + b"\n") * RING + b"".join(line({"curve": point}, ENTRY) for point in points)
    path.write_bytes(text + (b" " * (ENTRY - 1) + b"\n") * (POINTS - len(points)))
    return path


def run(folder: Path, ranks: int = 4, *, slow: int | None = None, **more: Any) -> Path:
    """A run of identical ranks, except for the slow one."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(ranks):
        facts(folder, rank, ranks=ranks, compute=2.0 if rank == slow else 1.0, **more)
        (folder / f"rank_{rank}.log").write_text(f"starting\nstep of rank {rank}\n")
    return folder
