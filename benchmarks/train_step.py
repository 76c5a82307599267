"""Samples per second of the training step: ours against PyTorch, one process with two threads and two ranks with one;
two ranks of mpirun against our one process.

    python -m benchmarks.train_step [--torch-python PYTHON]

Both train the same network on the same batches, in turn; PyTorch with as many ranks is the baseline, in the faster of
its two layouts.
torch comes with the extra `bench`; --torch-python names an interpreter that has it.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row

FOLDER = Path(__file__).parent
KINDS = (("one process, two threads", 1, 2), ("two ranks, one thread each", 2, 1))
LAYOUTS = ("contiguous_format", "channels_last")
"""How PyTorch may keep images and weights: the first one is its default, the second its advice for convolutions.

On two cores of an AMD EPYC with AVX-512 steps in the second one take 3 to 20 % less time (measured).
"""


def measure(argv: list[str], ranks: int, threads: int) -> dict[str, float]:
    """Start `ranks` processes of one program and return what rank 0 printed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    running = []
    for rank in range(ranks):
        environ = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": str(FOLDER.parent)}
        if ranks > 1:
            environ |= {
                "RANK": str(rank),
                "WORLD_SIZE": str(ranks),
                "LOCAL_RANK": str(rank),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
            }
        running.append(subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, text=True))
    outputs = [process.communicate(timeout=600)[0] for process in running]
    if any(process.returncode for process in running):
        raise SystemExit(f"failed: {' '.join(argv)}")
    result: dict[str, float] = json.loads(outputs[0].strip().splitlines()[-1])
    return result


def measure_torch(argv: list[str], ranks: int, threads: int) -> dict[str, float]:
    """The faster run of a program with PyTorch, whose last argument is the layout."""
    found = [measure([*argv, layout], ranks, threads) for layout in LAYOUTS]
    return min(found, key=lambda one: one["seconds"])


def compared(python: str, ranks: int, threads: int, *, batch: int, steps: int, rounds: int) -> list[dict[str, float]]:
    """The best of PyTorch and the best of ours, in turn."""
    numbers = [str(batch), str(steps)]
    theirs = [python, str(FOLDER / "torch_crnn.py"), *numbers, str(threads)]
    ours = [sys.executable, str(FOLDER / "mindspore_crnn.py"), *numbers, "crnn_small"]
    pairs = [(measure_torch(theirs, ranks, threads), measure(ours, ranks, threads)) for _ in range(rounds)]
    best = [min((pair[side] for pair in pairs), key=lambda found: found["seconds"]) for side in (0, 1)]
    assert best[0]["parameters"] == best[1]["parameters"], "the networks differ"
    return best


def under_mpirun(argv: list[str]) -> list[str]:
    """The command that starts a program as two ranks, whose gradients go over MPI."""
    return ["mpirun", "-n", "2", "--bind-to", "none", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), *argv]


def rows(*, full: bool) -> Iterator[Row]:
    """For `python -m benchmarks`."""
    rounds, of_one = 3 if full else 1, 0.0
    for name, ranks, threads in KINDS:
        best = compared(sys.executable, ranks, threads, batch=16, steps=100, rounds=rounds)
        theirs, ours = (16 * ranks / found["seconds"] for found in best)
        of_one = of_one or ours
        yield Row(f"training crnn_small, batch 16, {name}", "PyTorch", "samples/s", ours, theirs)
    command = under_mpirun([sys.executable, str(FOLDER / "mindspore_crnn.py"), "16", "100", "crnn_small"])
    seconds = min(measure(command, 1, 1)["seconds"] for _ in range(rounds))
    what = "training crnn_small, batch 16, two ranks of mpirun"
    yield Row(what, "ours with two threads", "samples/s", 32 / seconds, of_one)


def main() -> None:
    """Measure in turn, three rounds, and print the best of each with the ratio to PyTorch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--batch", type=int, default=16, help="samples per rank (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(f"batch {args.batch} per rank, median of {args.steps * 4 // 5} steps, best of {args.rounds} rounds, in turn")
    print(f"{'':28}{'PyTorch':>12}{'ours':>12}{'ours/PyTorch':>14}{'all-reduce':>12}")
    for name, ranks, threads in KINDS:
        baseline, best = compared(
            args.torch_python, ranks, threads, batch=args.batch, steps=args.steps, rounds=args.rounds
        )
        speed = [args.batch * ranks / row["seconds"] for row in (baseline, best)]
        share = best["communication"] / best["seconds"]
        print(f"{name:28}{speed[0]:>8.0f} /s{speed[1]:>9.0f} /s{speed[1] / speed[0]:>13.2f}x{share:>11.0%}")


if __name__ == "__main__":
    main()
