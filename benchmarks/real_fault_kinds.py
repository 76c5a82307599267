"""Faults that are planted in real jobs, and whether the diagnosis is right about them: see real_faults.py."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.places import ROOT

KINDS = {
    "kill": r"was killed by SIGKILL",
    "stop": r"unresponsive since step",
    "delay": r"is busy with its own code",
    "starve": r"waits for data",
    "operator": r"entered all_gather of .* where the others entered all_reduce",
    "size": r"entered all_reduce of 4100 bytes where the others entered all_reduce of 4096",
    "skip": r"entered all_reduce of 8 bytes where the others entered all_reduce of 4096|skipped a collective",
    "raise": r"failed with ValueError",
    "exit": r"ended with exit code 3",
    "early": r"finished after step",
    "full": r"found the disk full",
    "full-logs": r"found the disk full",
    "cut": r"entered all_reduce of [0-9]+ bytes where the others entered all_reduce of [0-9]+",
    "check": r"has another version of the code",
    "host": r"was lost with its server",
}
"""Kind of fault -> pattern that the diagnosis must match."""
OF_TRAINING = ("kill", "stop", "full", "starve", "delay", "cut", "check")
"""The kinds for `hccl-kit train`; the last two: a step diverges, and the ranks themselves find that they differ."""
OF_TORCH = ("kill", "stop", "delay", "starve", "operator", "size", "skip", "raise", "exit", "early")
"""The kinds for torch programs."""
TORCH_KINDS = {
    **KINDS,
    "operator": r"entered all_gather where the others entered all_reduce of Float \[1024\]",
    "size": r"entered all_reduce of Float \[1025\] where the others entered all_reduce of Float \[1024\]",
    "skip": r"entered all_reduce of Float \[2\] where the others entered all_reduce of Float \[1024\]",
}
for _kind in ("operator", "size", "skip"):  # gloo may have ended the ranks that could tell what they entered
    TORCH_KINDS[_kind] += r"|entered another collective than all_reduce|, which was not expected next"
FULL = ("full", "full-logs")
"""The disk of checkpoints is full; the logs are on it, or not."""
KIT = (sys.executable, "-m", "hccl_kit")


class Fault(NamedTuple):
    """A fault in one of `ranks` ranks; `moment` in seconds for what comes from outside, `step` for the rest."""

    kind: str
    ranks: int
    rank: int
    step: int
    moment: float


class Result(NamedTuple):
    """How the diagnosis did: right, cannot tell or wrong."""

    verdict: str
    fault: Fault
    step: int | None
    said: str
    seconds: float


def draw(dice: random.Random, kinds: Sequence[str]) -> Fault:
    """A fault at random."""
    kind = dice.choice(kinds)
    ranks = dice.choice((4, 6, 8)) if kind == "host" else dice.randint(2, 8)
    rank = dice.randrange(2, ranks) if kind == "host" else dice.randrange(ranks)
    return Fault(kind, ranks, rank, dice.randint(4, 60), dice.uniform(0.5, 2.5))


def score(fault: Fault, folder: Path, step: int | None, kinds: Mapping[str, str] = KINDS) -> Result:
    """Diagnose the job and compare the result with the planted fault."""
    (run,) = {path.resolve() for path in folder.glob("hccl_logs/*")}
    began = time.monotonic()
    found = diagnose(run)
    seconds = time.monotonic() - began
    first = found["first_fault"]
    said = "cannot tell" if first is None else f"rank {first['rank']} {first['kind']}"
    if first is None:
        verdict = "cannot tell"
    else:
        of_host = range(fault.rank // 2 * 2, fault.rank // 2 * 2 + 2) if fault.kind == "host" else (fault.rank,)
        # The first rank that writes finds the disk full; of two ranks that differ, both are suspects.
        suspects = [suspect["rank"] for suspect in found["suspects"]] if fault.kind == "check" else []
        is_rank = first["rank"] in (*of_host, *suspects) or (fault.kind in FULL and first["rank"] is not None)
        named = re.search(r"step ([0-9]+)", first["kind"])
        off = 6 if fault.kind in FULL else 1  # a checkpoint every five steps
        is_step = step is None or (named is not None and abs(int(named[1]) - step) <= off)
        verdict = "right" if is_rank and is_step and re.search(kinds[fault.kind], first["kind"]) else "wrong"
    if verdict != "right" and os.environ.get("KEEP"):
        shutil.copytree(run, Path(os.environ["KEEP"], f"{fault.kind}-{time.time():.0f}"))
    return Result(verdict, fault, step, said, seconds)


def diagnose(run: Path) -> dict[str, Any]:
    """The report of `hccl-kit diagnose`, run in a process of its own."""
    done = subprocess.run(
        [*KIT, "diagnose", "--format", "json", str(run)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
