"""A rank of the torch jobs of real_faults.py: steps of data, computation and two all-reduces of gloo.

No collective is named to our recorder: torch's own has them. HCCL_PLANT is "KIND RANK STEP".
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import torch
import torch.distributed as dist

from hccl_kit import Heartbeat, recorded, waiting

GRADIENTS, LOSS = 1024, 2
"""Numbers of the two all-reduces of a step."""
DELAY = 120.0
"""Seconds that a delay lasts: longer than the launcher waits."""


def main() -> None:
    """Steps of all-reduces, without a training."""
    kind, planted, at = (os.environ.get("HCCL_PLANT") or "none -1 -1").split()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    heartbeat = Heartbeat.from_environ(os.environ)
    dice = random.Random(rank)
    for step in range(int(os.environ["STEPS"])):
        now = int(planted) == rank and step == int(at)
        if now:
            Path(os.environ["TRUTH"]).write_text(f"{step}\n", encoding="ascii")
        with waiting("data"):
            time.sleep(DELAY if now and kind == "starve" else dice.uniform(0.005, 0.03))
        if now and kind == "delay":
            time.sleep(DELAY)
        if now and kind == "raise":
            raise ValueError("a picture cannot be read")
        if now and kind == "exit":
            os._exit(3)
        for number in (GRADIENTS, LOSS):
            if now and number == GRADIENTS and kind == "skip":
                continue
            if now and number == GRADIENTS and kind == "operator":
                dist.all_gather([torch.empty(number) for _ in range(size)], torch.ones(number))
                continue
            dist.all_reduce(torch.ones(number + (now and kind == "size" and number == GRADIENTS)))
        heartbeat.beat(step + 1)
        if now and kind == "early":
            return


if __name__ == "__main__":
    with recorded():
        main()
