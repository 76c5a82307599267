"""How much longer a training step takes without each part of `hccl_kit.ocr.cpu`: what does not earn 10 % goes.

    python -m benchmarks.cpu_parts [--config FILE ...] [--rounds 20]

One process trains the network of a configuration in several forms: as it is, without each part, and plain. Their steps
take turns, so other programs slow all of them down alike; those of the plain form follow, since a step after one of
these is up to an eighth slower. A figure is the lower quartile of the rounds, divided by that
of the network as it is: the seconds of the clock, and those of the processor, which differ less on a busy machine.
ONEDNN_MAX_CPU_ISA limits the instruction sets of oneDNN, in all forms.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hccl_kit.ocr import config as configuration
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.run.start import start
from hccl_kit.runtime.detect import detect
from hccl_kit.runtime.join import World

CONFIGS = Path(__file__).parent.parent / "configs"
SHAPES: Mapping[str, tuple[int, ...]] = {
    "rec/crnn/crnn_small.yaml": (16, 3, 32, 100),
    "rec/crnn/crnn_vgg7.yaml": (8, 3, 32, 100),
    "rec/svtr/svtr_tiny.yaml": (4, 3, 64, 256),
    "rec/ppocr/v6_small_receipts.yaml": (4, 3, 48, 320),
    "det/dbnet/db_r18_icdar15.yaml": (1, 3, 320, 320),
    "det/ppocr/v6_small_receipts.yaml": (1, 3, 320, 320),
}
"""The images of a step."""
WHOLE, PLAIN = "as it is", "plain"


def main() -> None:
    """Measure each configuration in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    if len(args.config) == 1:
        measure(args.config[0], args.rounds)
    for name in args.config:
        options = ["--config", name, "--rounds", str(args.rounds)]
        subprocess.run([sys.executable, "-m", "benchmarks.cpu_parts", *options], check=True)


def measure(name: str, rounds: int) -> None:
    """Print a line for each form of a network, and end the process."""
    config = configuration.load(CONFIGS / name)
    world = start(config, detect(os.environ), say=lambda _: None)
    from hccl_kit.ocr.cpu import adapted  # noqa: PLC0415  # after MindSpore's environment is complete
    from hccl_kit.ocr.run.program import leave  # noqa: PLC0415

    parts, batch = adapted.PARTS, made_batch(name, SHAPES[name])
    forms: dict[str, Mapping[str, Any]] = {WHOLE: parts}
    forms |= {f"without {part}": {key: parts[key] for key in parts if key != part} for part in parts}
    forms["without convolutions"] = forms[PLAIN] = {}  # the others need them
    del forms["without convolutions"]
    steps, first = {}, {}
    for form, chosen in forms.items():
        adapted.PARTS = chosen
        steps[form] = step_of(config, world)
        began = time.perf_counter()
        steps[form](batch, 1e-4)
        first[form] = time.perf_counter() - began
    seconds = {form: np.empty((rounds, 2)) for form in forms}
    turns = [(number, form) for number in range(rounds) for form in forms if form != PLAIN]
    for number, form in (*turns, *((number, PLAIN) for number in range(rounds))):
        clock_began, processor_began = time.perf_counter(), time.process_time()
        steps[form](batch, 1e-4)
        seconds[form][number] = time.perf_counter() - clock_began, time.process_time() - processor_began
    whole = np.quantile(seconds[WHOLE], 0.25, axis=0)
    for form in forms:
        clock, processor = np.quantile(seconds[form], 0.25, axis=0)
        print(
            f"{name:34} {form:28} {clock * 1000:8.1f} ms {clock / whole[0]:6.2f}x by the clock "
            f"{processor / whole[1]:6.2f}x by the processor, first step {first[form]:5.1f} s",
            flush=True,
        )
    leave(0, world)


def step_of(config: Config, world: World) -> Any:
    """A training step with new weights."""
    from hccl_kit.ocr.tasks import recipes  # noqa: PLC0415
    from hccl_kit.ocr.train import build  # noqa: PLC0415

    config.values["model"]["pretrained"] = None
    network = build.network_to_train(config, world, lambda _: None)
    return build.train_step(config, network, recipes.task(config), world, lambda _: None)


def made_batch(name: str, shape: tuple[int, ...]) -> Any:
    """Random images, with random texts of five characters or with maps."""
    from hccl_kit.ocr.data.loader import Batch  # noqa: PLC0415

    generator = np.random.default_rng(0)
    images = generator.standard_normal(shape).astype(np.float32)
    if name.startswith("rec"):
        count = shape[0]
        texts = generator.integers(0, 30, (count, 5)).astype(np.int32)
        return Batch(images, (texts, np.full(count, 5, np.int32)), ())
    square = (shape[0], *shape[2:])
    maps = [(generator.random(square) < share).astype(np.float32) for share in (0.1, 1.0, 0.0, 0.2)]
    maps[2] = generator.uniform(0.3, 0.7, square).astype(np.float32)
    return Batch(images, (maps[0][:, None], *maps[1:]), ())


if __name__ == "__main__":
    main()
