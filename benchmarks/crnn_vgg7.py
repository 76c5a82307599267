"""Samples per second of the training step of CRNN with VGG7, 32x100: ours against the same network in PyTorch, and two
ranks with one thread each, whose gradients (33 MB) go over MPI, against one process with two threads.

    PYTHONPATH=. python benchmarks/crnn_vgg7.py [--torch-python PYTHON]

One process each with two threads, then the two ranks, in turn. Processor time counts both threads; it is more reliable
than wall time when other programs run. torch comes with the extra `bench`;
--torch-python names an interpreter that has it.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.train_step import measure

FOLDER = Path(__file__).parent
THREADS = 2


def main() -> None:
    """Measure in turn and print the best of each with the ratio to PyTorch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    numbers = [str(args.batch), str(args.steps)]
    theirs = [args.torch_python, str(FOLDER / "torch_crnn_vgg7.py"), *numbers, str(THREADS)]
    ours = [sys.executable, str(FOLDER / "mindspore_crnn_vgg7.py"), *numbers]
    mpirun = ["mpirun", "-n", "2", "--bind-to", "none", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), *ours]
    rounds = [
        (measure(theirs, 1, THREADS), measure(ours, 1, THREADS), measure(mpirun, 1, 1)) for _ in range(args.rounds)
    ]
    assert all(one["parameters"] == other["parameters"] for one, other, _ in rounds), "the networks differ"
    print(f"batch {args.batch}, median of {args.steps * 4 // 5} steps, best of {args.rounds} rounds, in turn")
    print(f"{'':16}{'PyTorch':>12}{'ours':>12}{'ours/PyTorch':>14}")
    for name, key in (("by the clock", "seconds"), ("by the processor", "processor")):
        baseline, best = (min(row[side][key] for row in rounds) for side in (0, 1))
        print(f"{name:16}{args.batch / baseline:>9.1f} /s{args.batch / best:>9.1f} /s{baseline / best:>13.2f}x")
    alone = min(row[1]["seconds"] for row in rounds)
    ranks = min((row[2] for row in rounds), key=lambda row: row["seconds"])
    print(
        f"two ranks of mpirun, one thread each: {2 * args.batch / ranks['seconds']:.1f} /s, "
        f"{2 * alone / ranks['seconds']:.2f}x one process with two threads, "
        f"all-reduce {ranks['communication'] / ranks['seconds']:.0%}"
    )


if __name__ == "__main__":
    main()
