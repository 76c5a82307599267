"""The other side of crnn_vgg7.py: our training step on the same batch, compiled, without the first steps.

Under mpirun every rank has a batch of its own, and rank 0 prints.
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

CONFIG = Path(__file__).parent.parent / "configs/rec/crnn/crnn_vgg7.yaml"
BLANK = 36


def main() -> None:
    """Arguments: batch size, steps. Prints seconds per step (medians) and the parameter count as JSON."""
    batch_size, steps = map(int, sys.argv[1:3])
    config = configuration.load(CONFIG)

    def say(_: str) -> None:
        """Standard output is for the result."""

    world = start(config, detect(os.environ), say=say)
    import numpy as np  # noqa: PLC0415  # after MindSpore's environment is complete

    from hccl_kit.ocr.data.loader import Batch  # noqa: PLC0415
    from hccl_kit.ocr.losses.ctc import CTCLoss  # noqa: PLC0415
    from hccl_kit.ocr.run.program import leave  # noqa: PLC0415
    from hccl_kit.ocr.train import build, optimizer, parallel  # noqa: PLC0415
    from hccl_kit.ocr.train.step import TrainStep  # noqa: PLC0415

    generator = np.random.default_rng(world.rank)
    batch = Batch(
        images=generator.standard_normal((batch_size, 3, 32, 100)).astype(np.float32),
        targets=(generator.integers(0, BLANK, (batch_size, 5)).astype(np.int32), np.full(batch_size, 5, np.int32)),
        samples=(),
    )
    network = build.network_to_train(config, world, say)
    step = TrainStep(
        network,
        CTCLoss(BLANK),
        optimizer.build(config["optimizer"], network),
        clip_norm=5.0,
        join=parallel.join("auto", network, world, say),
    )
    seconds, processor, communication = [], [], []
    for _ in range(steps):
        started, used = time.perf_counter(), time.process_time()
        result = step(batch, 5e-4)
        seconds.append(time.perf_counter() - started)
        processor.append(time.process_time() - used)
        communication.append(result.communication_s)
    row = {
        "seconds": float(np.median(seconds[steps // 5 :])),
        "processor": float(np.median(processor[steps // 5 :])),
        "communication": float(np.median(communication[steps // 5 :])),
        "parameters": sum(p.size for p in network.trainable_params()),
    }
    if world.is_main:
        print(json.dumps(row))
    leave(0, world)


if __name__ == "__main__":
    main()
