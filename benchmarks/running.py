"""Runs benchmarks one after the other, each in a process group of its own: one that fails does not end the rest."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from benchmarks.registry import EXTRA, Benchmark
from benchmarks.row import Row

ROOT = Path(__file__).parent.parent
QUICK_SHARE = 2
"""The time limit of a full run divided by this is that of a quick one."""


def rows_of(benchmark: Benchmark, *, full: bool) -> tuple[list[Row], bool]:
    """The rows of a benchmark, and whether it failed: then the last row says why, after those that it had.

    A package that is not installed is not a failure.
    """
    absent = [name for name in benchmark.needs if importlib.util.find_spec(name) is None]
    if absent:
        return [_missing(benchmark, f"{', '.join(absent)} not installed; {EXTRA}")], False
    command = [sys.executable, "-m", "benchmarks.one", benchmark.program, "full" if full else "quick"]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ, start_new_session=True
    )
    limit = benchmark.seconds if full else benchmark.seconds // QUICK_SHARE
    late = ""
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        late = f"not done after {limit} s"
        _end(process)
        out, err = process.communicate()
    except BaseException:  # Ctrl-C reaches only this process
        _end(process)
        raise
    rows = [Row(**json.loads(line)) for line in out.splitlines() if line.startswith("{")]
    if late or process.returncode:
        said = err.strip().splitlines()
        why = late or f"exit code {process.returncode}{': ' + said[-1] if said else ''}"
        return [*rows, _missing(benchmark, f"failed: {why}")], True
    return rows, False


def _missing(benchmark: Benchmark, why: str) -> Row:
    return Row(benchmark.about, benchmark.peer, missing=why)


def _end(process: subprocess.Popen[str]) -> None:
    """Kill a benchmark and what it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
