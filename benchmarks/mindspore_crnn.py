"""The other side of train_step.py and crnn_vgg7.py: our training step, compiled, without the first steps.

They start one process per rank with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or mpirun does. Every rank has a
batch of its own, and rank 0 prints.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from hccl_kit.ocr import config as configuration
from hccl_kit.ocr.run.start import start
from hccl_kit.runtime.detect import detect

CONFIGS = Path(__file__).parent.parent / "configs/rec/crnn"


def main() -> None:
    """Arguments: batch size, steps, name of the configuration.

    Prints seconds per step, those of the processor and of the communication (medians) and the parameters as JSON.
    """
    batch_size, steps = map(int, sys.argv[1:3])
    config = configuration.load(CONFIGS / f"{sys.argv[3]}.yaml")

    def say(_: str) -> None:
        """Standard output is for the result."""

    world = start(config, detect(os.environ), say=say)
    import numpy as np  # noqa: PLC0415  # after MindSpore's environment is complete

    from hccl_kit.ocr.data.loader import Batch  # noqa: PLC0415
    from hccl_kit.ocr.run.program import leave  # noqa: PLC0415
    from hccl_kit.ocr.tasks import recipes  # noqa: PLC0415
    from hccl_kit.ocr.train import build, join, optimizer  # noqa: PLC0415
    from hccl_kit.ocr.train.step import TrainStep  # noqa: PLC0415

    generator = np.random.default_rng(world.rank)
    batch = Batch(
        images=generator.standard_normal((batch_size, 3, 32, 100)).astype(np.float32),
        targets=(generator.integers(0, 36, (batch_size, 5)).astype(np.int32), np.full(batch_size, 5, np.int32)),
        samples=(),
    )
    network = build.network_to_train(config, world, say)
    update = optimizer.build(config["optimizer"], network)
    total = join.join_for("auto", network, world, say)
    loss = recipes.task(config).loss()
    step = TrainStep(network, loss, update, clip_norm=5.0, join=total)
    rows = []
    for _ in range(steps):
        started, used = time.perf_counter(), time.process_time()
        communication = step(batch, 1e-3).communication_s
        rows.append((time.perf_counter() - started, time.process_time() - used, communication))
    medians = map(float, np.median(rows[steps // 5 :], axis=0))
    if world.is_main:
        found = dict(zip(("seconds", "processor", "communication"), medians, strict=True))
        print(json.dumps({**found, "parameters": sum(p.size for p in network.trainable_params())}))
    leave(0, world)


if __name__ == "__main__":
    main()
