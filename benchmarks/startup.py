"""Processor time of the command-line programs, against a bare interpreter; with byte code, as installed.

python -m benchmarks.startup
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row

ROUNDS = 41
GEN = (sys.executable, "-m", "hccl_kit.cli.gen")
CHECK = (sys.executable, "-m", "hccl_kit.cli.check")


def seconds(argv: tuple[str, ...], environ: dict[str, str]) -> float:
    """The processor time of one run, which other processes disturb less than the elapsed time."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{argv} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def measured(rounds: int) -> Iterator[tuple[str, float, float]]:
    """Each program in turn with the interpreter: its name, and the seconds of the interpreter and of the program.

    The best of each is the run that others disturbed least.
    """
    with tempfile.TemporaryDirectory() as folder:
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environ["PYTHONPYCACHEPREFIX"] = f"{folder}/byte_code"
        make = [*GEN, "--device_num", "[0,8)", "--simulate", "--server_ip", "10.0.0.1", "-o", folder]
        subprocess.run(make, check=True, capture_output=True, env=environ)
        table = next(str(path) for path in Path(folder).glob("hccl_*.json"))
        programs = {"hccl-gen --help": (*GEN, "--help"), "hccl-check of 8 devices": (*CHECK, table)}
        for name, argv in programs.items():
            pairs = [(seconds((sys.executable, "-c", "pass"), environ), seconds(argv, environ)) for _ in range(rounds)]
            bare, program = (min(column) for column in zip(*pairs, strict=True))
            yield name, bare, program


def rows(*, full: bool) -> Iterator[Row]:
    """For `python -m benchmarks`."""
    for name, bare, program in measured(ROUNDS if full else ROUNDS // 2):
        yield Row(f"{name}, processor time", "`python -c pass`", "ms", program * 1e3, bare * 1e3)


def main() -> None:
    """Print a line for each program."""
    print(f"{'':28}{'bare python':>14}{'program':>12}{'ratio':>9}   best of {ROUNDS} runs in turn")
    for name, bare, program in measured(ROUNDS):
        print(f"{name:28}{bare * 1000:>11.1f} ms{program * 1000:>9.1f} ms{program / bare:>8.2f}x")


if __name__ == "__main__":
    main()
