"""What the worker programs of launchers.py share: what they record, and how they end. Standard library only."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

FOLDER = "LAUNCHED_FOLDER"
"""The variable with the folder that the ranks of a job write to. It also marks the processes of that job."""
ORDER = "order"
"""The file with the end that the benchmark orders: END or RAISE."""
END, RAISE = "end", "raise"
VICTIM = 1
"""The rank that raises or is killed; rank 0 holds the store."""
LONGEST = 150.0
"""Seconds after which a rank ends, even if its launcher and the benchmark are gone."""


def write_down(rank: int, moments: dict[str, float], *, floor: float | None = None) -> None:
    """Record that the first all-reduce is done, the times of each part (seconds since 1970), and the seconds that
    MindSpore spent forming the group."""
    print(f"rank {rank}: first all-reduce at {moments['reduced']:.3f}", flush=True)
    part = Path(os.environ[FOLDER]) / f"rank_{rank}.part"
    part.write_text(json.dumps({"pid": os.getpid(), "floor": floor, **moments}), encoding="utf-8")
    part.rename(part.with_suffix(".json"))


def go_on(rank: int, all_reduce: Callable[[float], float]) -> None:
    """All-reduce as training does until the benchmark orders an end; rank 0 broadcasts it, so all end in the same step.

    Raises RuntimeError on the chosen rank if the order is to raise; the others then wait in an all-reduce.
    """
    order = Path(os.environ[FOLDER]) / ORDER
    last = time.monotonic() + LONGEST
    while time.monotonic() < last:
        ordered = order.read_text(encoding="utf-8") if order.exists() else ""
        if ordered == RAISE and rank == VICTIM:
            raise RuntimeError("raised on purpose")
        if all_reduce(float(ordered == END and rank == 0)):
            return
        time.sleep(0.05)
