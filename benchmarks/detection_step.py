"""A training step of DBNet on this CPU: seconds, images per second and peak memory.

    PYTHONPATH=. python benchmarks/detection_step.py [--config FILE] [--batch 2] [--size 640]

The baseline is MindOCR with the same network, batch and size in graph mode, measured once on two
cores: 0.49 images per second and 9.4 GB. MindOCR does not run on MindSpore 2.10 without changes, so it is not part of
this run.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path

from hccl_kit.ocr import config as configuration
from hccl_kit.ocr.run.program import leave
from hccl_kit.ocr.run.start import start
from hccl_kit.runtime import detect

CONFIG = Path(__file__).parent.parent / "configs/det/dbnet/db_r18_icdar15.yaml"
MINDOCR_IMAGES_PER_S, MINDOCR_GB = 0.49, 9.4


def main() -> None:
    """Run some steps on one random batch and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=CONFIG)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--size", type=int, default=640)
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    config = configuration.load(args.config)
    world = start(config, detect(os.environ), say=lambda _: None)
    import numpy as np  # noqa: PLC0415  # after MindSpore's environment is complete

    from hccl_kit.ocr.data.loader import Batch  # noqa: PLC0415
    from hccl_kit.ocr.tasks import recipes  # noqa: PLC0415
    from hccl_kit.ocr.train import build  # noqa: PLC0415

    generator, square = np.random.default_rng(0), (args.batch, args.size, args.size)
    maps = [(generator.random(square) < share).astype(np.float32) for share in (0.1, 1.0, 0.0, 0.2)]
    maps[2] = generator.uniform(0.3, 0.7, square).astype(np.float32)
    images = generator.standard_normal((args.batch, 3, args.size, args.size)).astype(np.float32)
    batch = Batch(images, (maps[0][:, None], *maps[1:]), ())
    step = build.train_step(config, recipes.network(config), recipes.task(config), world)
    seconds = []
    for _ in range(args.steps + 1):
        began = time.perf_counter()
        step(batch, 1e-3)
        seconds.append(time.perf_counter() - began)
    median = float(np.median(seconds[1:]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(f"first step, compilation included: {seconds[0]:.1f} s")
    print(f"step of {args.batch} x {args.size} x {args.size}: {median:.2f} s, {args.batch / median:.2f} images/s")
    print(f"peak memory of the process: {peak:.1f} GB")
    print(
        f"against MindOCR's figures: {args.batch / median / MINDOCR_IMAGES_PER_S:.2f}x the images, "
        f"{peak / MINDOCR_GB:.2f}x the memory"
    )
    leave(0, world)


if __name__ == "__main__":
    main()
