"""The MindSpore program that launchers.py starts: join on CPU, all-reduce, end as ordered.

It joins by hccl_kit.runtime and ends by hccl_kit.ocr.run.program.leave, as tools/train.py does.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.launched import go_on, write_down
from hccl_kit.runtime.detect import detect
from hccl_kit.runtime.failure import recorded
from hccl_kit.runtime.join import join, prepare

if TYPE_CHECKING:
    from hccl_kit.runtime.join import World


def main() -> None:
    """Run one rank."""
    launch = detect(os.environ)
    os.environ.setdefault("GLOG_v", "3")
    env = prepare(launch, "", os.environ)
    ready = time.time()
    import mindspore as ms  # noqa: PLC0415  # after MindSpore's environment is complete
    from mindspore.communication import management  # noqa: PLC0415

    ms.set_device("CPU")
    imported = time.time()
    # Private, and missing under msrun: the floor is unknown then.
    floor = Timed(getattr(management, "_init_with_store", None))
    management._init_with_store = floor
    world = join(launch, env, "CPU")
    joined = time.time()

    def all_reduce(value: float) -> float:
        return float(world.all_reduce(np.array([value], np.float32))[0])

    import numpy as np  # noqa: PLC0415

    assert all_reduce(1.0) == world.size
    moments = {"ready": ready, "imported": imported, "joined": joined, "reduced": time.time()}
    write_down(world.rank, moments, floor=floor.seconds)
    end(world, all_reduce)


class Timed:
    """A function, and the seconds of its last call."""

    def __init__(self, function: Callable[..., Any] | None) -> None:
        self.function = function
        self.seconds: float | None = None

    def __call__(self, *args: Any, **options: Any) -> Any:
        assert self.function is not None
        started = time.perf_counter()
        try:
            return self.function(*args, **options)
        finally:
            self.seconds = time.perf_counter() - started


def end(world: World, all_reduce: Callable[[float], float]) -> None:
    """End with exit code 0 when all ranks are done, or with 1 at once after a traceback."""
    from hccl_kit.ocr.run.program import leave  # noqa: PLC0415

    try:
        with recorded():
            go_on(world.rank, all_reduce)
    except Exception:
        traceback.print_exc()
        leave(1, world)
    leave(0, world)


if __name__ == "__main__":
    main()
