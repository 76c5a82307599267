"""Seconds until a network that starts from scratch reads 95 % of the test words: ours against PyTorch.

    python -m benchmarks.time_to_accuracy [FOLDER] [--seeds 3]

FOLDER has train_gt.txt and test_gt.txt with rows NAME TAB TEXT, and the images in train/ and test/. Without it,
captchas of five characters are drawn. Both train the network of crnn_small.yaml by the recipe there, two threads each,
are evaluated after every epoch, and end at the goal. For each seed PyTorch goes first, in the layout that is the faster
one here, then ours, which is `hccl-kit train`. The seconds of training begin before the first step, those in all with
the command.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.row import Row
from benchmarks.train_step import LAYOUTS, measure
from hccl_kit.ocr import config as configuration
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.train.schedule import learning_rate

ROOT = Path(__file__).parent.parent
CONFIG = ROOT / "configs/rec/crnn/crnn_small.yaml"
GOAL, THREADS = 0.95, 2
CHARACTERS = "2345678bcdefgmnpwxy"
EVALUATION = re.compile(r"evaluation after step (\d+): (\d+) of (\d+) words right")
PARAMETERS = re.compile(r"(\d+) parameters to train")


@dataclass(frozen=True)
class Evaluation:
    """The share of the test words that was right after `step`, and the seconds since the command."""

    step: int
    share: float
    seconds: float
    processor: float


@dataclass(frozen=True)
class Line:
    """What a program printed `seconds` after its start, and the processor time that it had used."""

    text: str
    seconds: float
    processor: float


@dataclass(frozen=True)
class Course:
    """A training: all its evaluations, the first one before the first step."""

    parameters: int
    evaluations: tuple[Evaluation, ...]

    @property
    def reached(self) -> Evaluation:
        """The first evaluation at the goal. Raises SystemExit if there is none."""
        for evaluation in self.evaluations:
            if evaluation.share >= GOAL:
                return evaluation
        best = max(evaluation.share for evaluation in self.evaluations)
        raise SystemExit(f"a training read {best:.1%} of the test words at best, not {GOAL:.0%}")

    @property
    def in_all(self) -> float:
        """Seconds from the command to the goal."""
        return self.reached.seconds

    @property
    def processor(self) -> float:
        """Processor time of all threads from the command to the goal: other programs change it less."""
        return self.reached.processor

    @property
    def training(self) -> float:
        """Seconds from the evaluation before the first step to the goal."""
        return self.reached.seconds - self.evaluations[0].seconds


def evaluation(line: Line) -> Evaluation | None:
    """The evaluation that a line of a log reports, if it does."""
    found = EVALUATION.search(line.text)
    return found and Evaluation(int(found[1]), int(found[2]) / int(found[3]), line.seconds, line.processor)


def course(lines: Sequence[Line]) -> Course:
    """The training that the lines of a log describe."""
    parameters = [int(found[1]) for line in lines if (found := PARAMETERS.search(line.text))]
    return Course(parameters[0], tuple(filter(None, map(evaluation, lines))))


def faster_layout() -> str:
    """The layout in which PyTorch's step takes less time here."""
    numbers = ["16", "60", str(THREADS)]
    step = [sys.executable, str(ROOT / "benchmarks/torch_crnn.py"), *numbers]
    return min(LAYOUTS, key=lambda layout: min(measure([*step, layout], 1, THREADS)["seconds"] for _ in range(2)))


def recipe(config: Config, folder: Path, seed: int, layout: str) -> dict[str, Any]:
    """The part of a configuration that the baseline needs."""
    batch, scheduler = config["train"]["loader"]["batch_size"], config["scheduler"]
    with (folder / "train_gt.txt").open(encoding="utf-8") as rows_of_train:
        steps_per_epoch = sum(1 for _ in rows_of_train) // batch
    steps = range(scheduler["num_epochs"] * steps_per_epoch)
    return {
        "folder": str(folder),
        "seed": seed,
        "threads": THREADS,
        "layout": layout,
        "batch": batch,
        "rates": [learning_rate(step, scheduler, steps_per_epoch) for step in steps],
        "weight_decay": config["optimizer"]["weight_decay"],
        "clip_norm": config["train"]["clip_norm"],
    }


def theirs(folder: Path, seed: int, layout: str, *options: str) -> Course:
    """A training with PyTorch; `options` change the configuration."""
    given = json.dumps(recipe(configuration.load(CONFIG, options), folder, seed, layout))
    return course(lines_until_goal([sys.executable, str(ROOT / "benchmarks/torch_words.py")], given))


def ours(folder: Path, seed: int, *options: str) -> Course:
    """A training with `hccl-kit train`; `options` change the configuration."""
    with tempfile.TemporaryDirectory() as run:
        places = [f"{part}.dataset.dataset_root={folder}" for part in ("train", "eval")]
        evaluated = ["system.val_before_train=True", "system.val_interval=1"]
        command = [sys.executable, "-u", str(ROOT / "tools/train.py"), "-c", str(CONFIG), "-o", *places, *evaluated]
        return course(lines_until_goal([*command, f"system.seed={seed}", f"train.ckpt_save_dir={run}", *options]))


def lines_until_goal(command: list[str], given: str = "") -> list[Line]:
    """The lines that a command prints until an evaluation is at the goal, which ends it."""
    environ = {**os.environ, "OMP_NUM_THREADS": str(THREADS), "PYTHONPATH": str(ROOT)}
    began = time.perf_counter()
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(given)
        process.stdin.close()
        lines = []
        for text in process.stdout:
            lines.append(Line(text, time.perf_counter() - began, _processor(process.pid)))
            if (found := evaluation(lines[-1])) and found.share >= GOAL:
                process.kill()
                return lines
    if process.returncode:
        raise SystemExit(f"failed: {' '.join(command)}")
    return lines


def _processor(pid: int) -> float:
    """The processor time of all threads of a process that has not been waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()  # a name may hold spaces
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def drawn(folder: Path) -> Path:
    """Draw captchas into a folder. Their fonts and colours vary so much that with 744 one side missed the goal."""
    generator = np.random.default_rng(0)
    texts = ["".join(generator.choice(list(CHARACTERS), 5)) for _ in range(4000)]
    (folder / "texts.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    render = [sys.executable, str(ROOT / "tools/render_words.py"), "--texts", str(folder / "texts.txt")]
    sizes = ["--train", "1500", "--test", "140", "--output", str(folder / "words")]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*render, *sizes], check=True, stdout=subprocess.DEVNULL, env=environ)
    return folder / "words"


def pairs(folder: Path, seeds: Sequence[int]) -> Iterator[tuple[Course, Course]]:
    """PyTorch's training and ours with each seed. Before them, ours compiles its graphs and measures its convolutions:
    what is timed are later starts of one network on one machine. Until then the cache is empty.
    """
    layout = faster_layout()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["HCCL_KIT_CACHE"] = cache
        ours(folder, 0, "train.max_steps=1")
        for seed in seeds:
            pair = theirs(folder, seed, layout), ours(folder, seed)
            assert pair[0].parameters == pair[1].parameters, "the networks differ"
            yield pair


def rows(*, full: bool) -> Iterator[Row]:
    """For `python -m benchmarks`."""
    with tempfile.TemporaryDirectory() as folder:
        found = list(pairs(drawn(Path(folder)), range(1, 11 if full else 4)))
    what = f"crnn_small from scratch to {GOAL:.0%} of drawn captchas, two threads"
    parts = {
        "training": "training",
        "from the command on": "in_all",
        "from the command on, processor time": "processor",
    }
    for name, part in parts.items():
        peers, seconds = (statistics.fmean(getattr(pair[side], part) for pair in found) for side in (0, 1))
        yield Row(f"{what}, {name}", "PyTorch", "s", seconds, peers)


def main() -> None:
    """Train with each seed and print the seconds to the goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    print(f"{'':6}" + "".join(f"{title:>{width}}" for title, width in (("PyTorch", 39), ("ours", 39), ("ratio", 30))))
    columns = f"{'training':>12}{'in all':>10}{'processor':>10}"
    print(f"{'seed':6}" + 2 * f"{columns}{'epochs':>7}" + columns[2:])
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or drawn(Path(temporary))
        for seed, pair in enumerate(pairs(folder.absolute(), range(1, args.seeds + 1)), 1):
            print(f"{seed:<6}" + "".join(map(_cells, pair)) + _ratios(pair), flush=True)


def _cells(one: Course) -> str:
    epochs = one.evaluations.index(one.reached)
    seconds = f"{one.training:>10.1f} s{one.in_all:>8.1f} s{one.processor:>8.1f} s"
    return f"{seconds}{epochs:>7}"


def _ratios(pair: tuple[Course, Course]) -> str:
    ways = ((one.training, one.in_all, one.processor) for one in pair)
    return "".join(f"{best / baseline:>10.2f}" for baseline, best in zip(*ways, strict=True))


if __name__ == "__main__":
    main()
