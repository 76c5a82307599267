"""Prints the seconds of a training step of a configuration, for `hccl_kit.ocr.run.convolutions`.

    python -m hccl_kit.ocr.programs.step_time CONFIG CORES

It computes on random images, in this process alone, with so many cores. One line of JSON: {"seconds": ...}.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from hccl_kit.ocr import config as configuration
from hccl_kit.ocr.run.start import start
from hccl_kit.runtime import detect

WARM, TIMED = 2, 5
"""Steps that compile and fill caches, and steps of which the fastest counts: others may use the machine too."""
CHARACTERS = 5


def main() -> None:
    """Run the program."""
    config = configuration.load(Path(sys.argv[1]))
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[2])])
    world = start(config, detect({}), say=lambda _: None, training=True)
    import numpy as np  # noqa: PLC0415  # after MindSpore's environment is complete

    from hccl_kit.ocr.data.loader import Batch  # noqa: PLC0415
    from hccl_kit.ocr.run.program import leave  # noqa: PLC0415
    from hccl_kit.ocr.tasks import line_images, recipes  # noqa: PLC0415
    from hccl_kit.ocr.tasks.recognition import Recognition  # noqa: PLC0415
    from hccl_kit.ocr.train import build  # noqa: PLC0415

    task = recipes.task(config)
    assert isinstance(task, Recognition)
    count = build.batch_of_a_rank(config, world)
    height, width = line_images.image_shape(config, "train")[0], task.buckets[len(task.buckets) // 2][0]
    label = tuple(range(min(CHARACTERS, len(task.characters), task.longest)))
    images = np.random.default_rng(0).standard_normal((count, 3, height, width)).astype(np.float32)
    batch = Batch(images=images, targets=task.head.targets([label] * count, task.longest), samples=())
    step = build.train_step(config, build.network_to_train(config, world, lambda _: None), task, world)
    seconds = []
    for _ in range(WARM + TIMED):
        began = time.perf_counter()
        step(batch, 1e-6)
        seconds.append(time.perf_counter() - began)
    print(json.dumps({"seconds": min(seconds[WARM:])}), flush=True)
    leave(0, world)


if __name__ == "__main__":
    main()
