"""What the worker programs of launchers.py have in common: what they write down, and how they end. Imports nothing."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

FOLDER = "LAUNCHED_FOLDER"
"""Where the ranks of one job write; in the environment of all its processes, it is the mark that tells them apart."""
ORDER = "order"
"""The file in which the benchmark says how the job is to end: END or RAISE."""
END, RAISE = "end", "raise"
VICTIM = 1
"""The rank that raises or is killed; rank 0 holds the store."""
LONGEST = 150.0
"""Seconds after which a rank ends by itself, whatever became of its launcher and of the benchmark."""


def write_down(rank: int, moments: dict[str, float], *, floor: float | None = None) -> None:
    """Tell the benchmark that the first all-reduce is done, when this rank came how far (seconds since 1970), and the
    seconds that it was inside MindSpore's own forming of the group."""
    print(f"rank {rank}: first all-reduce at {moments['reduced']:.3f}", flush=True)
    part = Path(os.environ[FOLDER]) / f"rank_{rank}.part"
    part.write_text(json.dumps({"pid": os.getpid(), "floor": floor, **moments}), encoding="utf-8")
    part.rename(part.with_suffix(".json"))


def go_on(rank: int, all_reduce: Callable[[float], float]) -> None:
    """All-reduce as training does, until the benchmark orders an end; rank 0 passes that on, so all end in one step.

    RuntimeError on the victim where the order is to raise; the others are then in an all-reduce that it never joins.
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
