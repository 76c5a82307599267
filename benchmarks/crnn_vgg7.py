"""Samples per second of the training step of CRNN with VGG7, 32x100: ours against the same network in PyTorch, and two
ranks with one thread each, with gradients of 33 MB, against one process with two threads.

    python -m benchmarks.crnn_vgg7 [--torch-python PYTHON]

One process each with two threads, then two ranks and two ranks of mpirun, in turn. Processor time counts both
threads; it is more reliable than wall time when other programs run. PyTorch's figure is that of the faster of its two
layouts. torch comes with the extra `bench`; --torch-python names an interpreter that has it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row
from benchmarks.train_step import measure, measure_torch, under_mpirun

FOLDER = Path(__file__).parent
THREADS, BATCH = 2, 16


Rounds = list[tuple[dict[str, float], dict[str, float], dict[str, float], dict[str, float]]]
"""Of each round PyTorch, ours in one process, ours in two ranks, and in two ranks of mpirun."""


def measured(python: str, *, batch: int, steps: int, rounds: int) -> Rounds:
    """The four in turn."""
    numbers = [str(batch), str(steps)]
    theirs = [python, str(FOLDER / "torch_crnn_vgg7.py"), *numbers, str(THREADS)]
    ours = [sys.executable, str(FOLDER / "mindspore_crnn.py"), *numbers, "crnn_vgg7"]
    mpirun = under_mpirun(ours)
    found = [
        (measure_torch(theirs, 1, THREADS), measure(ours, 1, THREADS), measure(ours, 2, 1), measure(mpirun, 1, 1))
        for _ in range(rounds)
    ]
    assert all(row[0]["parameters"] == row[1]["parameters"] for row in found), "the networks differ"
    return found


def rows(*, full: bool) -> Iterator[Row]:
    """For `python -m benchmarks`."""
    found = measured(sys.executable, batch=BATCH, steps=20 if full else 10, rounds=5 if full else 2)
    theirs, ours, ranks, mpirun = (min(row[side]["seconds"] for row in found) for side in range(4))
    what = f"training CRNN VGG7, 32 x 100, batch {BATCH}"
    yield Row(f"{what}, two threads", "PyTorch", "images/s", BATCH / ours, BATCH / theirs)
    yield Row(f"{what}, two ranks", "ours with two threads", "images/s", 2 * BATCH / ranks, BATCH / ours)
    yield Row(f"{what}, two ranks of mpirun", "ours with two threads", "images/s", 2 * BATCH / mpirun, BATCH / ours)


def main() -> None:
    """Measure in turn and print the best of each with the ratio to PyTorch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    rounds = measured(args.torch_python, batch=args.batch, steps=args.steps, rounds=args.rounds)
    print(f"batch {args.batch}, median of {args.steps * 4 // 5} steps, best of {args.rounds} rounds, in turn")
    print(f"{'':16}{'PyTorch':>12}{'ours':>12}{'ours/PyTorch':>14}")
    for name, key in (("by the clock", "seconds"), ("by the processor", "processor")):
        baseline, best = (min(row[side][key] for row in rounds) for side in (0, 1))
        print(f"{name:16}{args.batch / baseline:>9.1f} /s{args.batch / best:>9.1f} /s{baseline / best:>13.2f}x")
    alone = min(row[1]["seconds"] for row in rounds)
    for name, side in (("two ranks", 2), ("two ranks of mpirun", 3)):
        ranks = min((row[side] for row in rounds), key=lambda row: row["seconds"])
        print(
            f"{name}, one thread each: {2 * args.batch / ranks['seconds']:.1f} /s, "
            f"{2 * alone / ranks['seconds']:.2f}x one process with two threads, "
            f"all-reduce {ranks['communication'] / ranks['seconds']:.0%}"
        )


if __name__ == "__main__":
    main()
