"""Time of the command-line programs as whole processes, against a bare interpreter.

python benchmarks/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 21
GEN = (sys.executable, "-m", "hccl_kit.cli.gen")
CHECK = (sys.executable, "-m", "hccl_kit.cli.check")


def seconds(argv: tuple[str, ...]) -> float:
    """The time of one run."""
    started = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    """Time each program in turn with the interpreter and print medians and the median of the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*GEN, "--device_num", "[0,8)", "--simulate", "-o", folder], check=True, capture_output=True)
        table = next(str(path) for path in Path(folder).glob("hccl_*.json"))
        rows = {"hccl-gen --help": (*GEN, "--help"), "hccl-check of 8 devices": (*CHECK, table)}
        print(f"{'':28}{'bare python':>14}{'program':>12}{'ratio':>9}   medians of {ROUNDS} runs in turn")
        for name, argv in rows.items():
            pairs = [(seconds((sys.executable, "-c", "pass")), seconds(argv)) for _ in range(ROUNDS)]
            bare, program = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(b / a for a, b in pairs)
            print(f"{name:28}{bare * 1000:>11.1f} ms{program * 1000:>9.1f} ms{ratio:>8.2f}x")


if __name__ == "__main__":
    main()
