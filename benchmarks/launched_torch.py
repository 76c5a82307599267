"""The torch program that launchers.py starts: it joins by gloo and does not use hccl_kit."""

from __future__ import annotations

import time

from benchmarks.launched import go_on, write_down

READY = time.time()

import torch  # noqa: E402  # timed
from torch import distributed  # noqa: E402


def all_reduce(value: float) -> float:
    """The sum over all ranks."""
    tensor = torch.tensor([value])
    distributed.all_reduce(tensor)
    return float(tensor)


def main() -> None:
    """Join, all-reduce, end as ordered."""
    imported = time.time()
    distributed.init_process_group("gloo")
    joined = time.time()
    assert all_reduce(1.0) == distributed.get_world_size()
    moments = {"ready": READY, "imported": imported, "joined": joined, "reduced": time.time()}
    write_down(distributed.get_rank(), moments)
    go_on(distributed.get_rank(), all_reduce)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
