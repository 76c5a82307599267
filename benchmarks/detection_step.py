"""A training step of DBNet with ResNet-18 on this CPU against PyTorch: images per second and peak memory.

    python -m benchmarks.detection_step [--batch 2] [--size 640] [--rounds 3]

Both train the same network on the same batch, in turn, in processes of their own with two threads, PyTorch in the
faster of its two layouts. With --json this program is our side: one process that prints its seconds and memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from benchmarks.row import Row
from benchmarks.train_step import measure, measure_torch
from hccl_kit.ocr import config as configuration
from hccl_kit.ocr.run.program import leave
from hccl_kit.ocr.run.start import start
from hccl_kit.runtime.detect import detect

FOLDER = Path(__file__).parent
CONFIG = FOLDER.parent / "configs/det/dbnet/db_r18_icdar15.yaml"
BATCH, SIZE, STEPS, THREADS = 2, 640, 8, 2


def compared(*, batch: int, size: int, steps: int, rounds: int) -> list[dict[str, float]]:
    """The fastest run of PyTorch and of ours."""
    theirs = [sys.executable, str(FOLDER / "torch_detection.py"), *map(str, (batch, size, steps, THREADS))]
    sizes = [f"--batch={batch}", f"--size={size}", f"--steps={steps}"]
    ours = [sys.executable, str(FOLDER / "detection_step.py"), "--json", *sizes]
    pairs = [(measure_torch(theirs, 1, THREADS), measure(ours, 1, THREADS)) for _ in range(rounds)]
    best = [min((pair[side] for pair in pairs), key=lambda found: found["seconds"]) for side in (0, 1)]
    assert best[0]["parameters"] == best[1]["parameters"], "the networks differ"
    return best


def rows(*, full: bool) -> Iterator[Row]:
    """For `python -m benchmarks`."""
    theirs, ours = compared(batch=BATCH, size=SIZE, steps=STEPS if full else 3, rounds=3 if full else 1)
    what = f"training DBNet ResNet-18, {BATCH} x {SIZE} x {SIZE}"
    yield Row(what, "PyTorch", "images/s", BATCH / ours["seconds"], BATCH / theirs["seconds"])
    yield Row(f"{what}, memory", "PyTorch", "GB", ours["peak"], theirs["peak"])


def main() -> None:
    """Compare, or be our side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=CONFIG, help="of our side alone")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="our side alone, as JSON")
    args = parser.parse_args()
    if args.json:
        ours_alone(args.config, batch=args.batch, size=args.size, steps=args.steps)
    theirs, ours = compared(batch=args.batch, size=args.size, steps=args.steps, rounds=args.rounds)
    for name, found in (("PyTorch", theirs), ("ours", ours)):
        print(f"{name:8} {args.batch / found['seconds']:6.2f} images/s {found['peak']:6.1f} GB")
    print(f"ratio    {theirs['seconds'] / ours['seconds']:6.2f} {ours['peak'] / theirs['peak']:15.1f}")


def ours_alone(path: Path, *, batch: int, size: int, steps: int) -> NoReturn:
    """Run some steps on one random batch, print the median, the memory and the parameters, and end."""
    config = configuration.load(path)
    world = start(config, detect(os.environ), say=lambda _: None)
    import numpy as np  # noqa: PLC0415  # after MindSpore's environment is complete

    from hccl_kit.ocr.data.loader import Batch  # noqa: PLC0415
    from hccl_kit.ocr.tasks import recipes  # noqa: PLC0415
    from hccl_kit.ocr.train import build  # noqa: PLC0415

    generator, square = np.random.default_rng(0), (batch, size, size)
    maps = [(generator.random(square) < share).astype(np.float32) for share in (0.1, 1.0, 0.0, 0.2)]
    maps[2] = generator.uniform(0.3, 0.7, square).astype(np.float32)
    images = generator.standard_normal((batch, 3, size, size)).astype(np.float32)
    one_batch = Batch(images, (maps[0][:, None], *maps[1:]), ())
    network = build.network_to_train(config, world, lambda _: None)
    step = build.train_step(config, network, recipes.task(config), world, lambda _: None)
    seconds = []
    for _ in range(steps + 1):
        began = time.perf_counter()
        step(one_batch, 1e-3)
        seconds.append(time.perf_counter() - began)
    median = float(np.median(seconds[1:]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    parameters = sum(parameter.size for parameter in network.trainable_params())
    print(json.dumps({"seconds": median, "peak": peak, "parameters": parameters}), flush=True)
    leave(0, world)


if __name__ == "__main__":
    main()
