"""Jobs under the agent of which a random process is killed or stopped: what is left, the exit code, who is named.

    python -m benchmarks.killed_processes --runs 200 --seed 1

A job has 2 to 8 ranks, each with a child in a session of its own. Right: 10 s after the last signal no process of the
job is left; a killed rank is named and gives its exit code; a job whose guard is killed goes on, and ends as it is told
to; an agent that is killed, or killed while it is stopped, leaves nothing. The figures are counts, and the longest time
from the last signal until nothing was left.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from tests.agent.jobs import Job, python_job
from tests.waiting import wait_until

Victim = Literal["rank", "child", "guard", "agent"]
PATIENCE = 10.0
"""Seconds from the last signal until nothing may be left."""
PROGRAM = """
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', __file__], start_new_session=True)
print('ready', flush=True)
time.sleep(600)
"""


class Kill(NamedTuple):
    """What happens to a job `after` its ranks were started, in seconds."""

    ranks: int
    victim: Victim
    number: signal.Signals
    after: float
    rank: int


class Outcome(NamedTuple):
    """Whether all was right, what was not, and the seconds until nothing was left."""

    wrong: str
    seconds: float


def draw(chance: random.Random) -> Kill:
    """A random case."""
    ranks = chance.randint(2, 8)
    victim: Victim = chance.choice(("rank", "rank", "child", "guard", "agent"))
    number = chance.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP))
    return Kill(ranks, victim, number, chance.uniform(0, 0.5), chance.randrange(ranks))


def run(case: Kill, folder: Path) -> Outcome:
    """Start a job, do what the case says, and look at what is left."""
    job = python_job(folder, PROGRAM, ranks=case.ranks)
    process = job.start()
    if not wait_until(lambda: job.all_say("ready")):
        raise TimeoutError("the job has not started")
    time.sleep(case.after)
    (victim, *_) = _victims(job, process, case)
    os.kill(victim, case.number)
    ends_by_itself = case.victim in ("rank", "agent") and case.number != signal.SIGSTOP
    if not ends_by_itself:
        time.sleep(0.7)  # longer than the agent takes to look at its guard
        if case.victim == "agent":
            os.kill(victim, signal.SIGKILL if case.rank % 2 else signal.SIGCONT)
        if process.poll() is None:
            process.terminate()
    began = time.monotonic()
    _, said = process.communicate(timeout=120)
    while (job.processes() or job.guards()) and time.monotonic() - began < PATIENCE:
        time.sleep(0.02)
    seconds = time.monotonic() - began
    left = job.processes() + list(map(str, job.guards()))
    wrong = f"left after {seconds:.1f} s: {left}" if left else _wrong(case, process, said)
    return Outcome(wrong, seconds)


def _wrong(case: Kill, process: subprocess.Popen[str], said: str) -> str:
    """What is wrong about the exit code and the last lines; empty if nothing is."""
    code = 143
    if case.victim == "agent" and (case.number == signal.SIGKILL or (case.number == signal.SIGSTOP and case.rank % 2)):
        code = -signal.SIGKILL
    if case.victim == "rank" and case.number != signal.SIGSTOP:
        code = 128 + case.number
        name = f"error: rank {case.rank} on device {case.rank + 4} of n1 failed with exit code {code}"
        if name not in said:
            return f"not named: {name}; but: {said.strip()[:200]}"
    return "" if process.returncode == code else f"exit code {process.returncode}, not {code}"


def _victims(job: Job, process: subprocess.Popen[str], case: Kill) -> list[int]:
    if case.victim == "agent":
        return [process.pid]
    if case.victim == "guard":
        return job.guards()
    return [pid for pid, line in job.of_rank(case.rank) if ("sleep" in line) == (case.victim == "child")]


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each kind, and every case that went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    chance = random.Random(given.seed)
    counts: Counter[str] = Counter()
    longest = 0.0
    for number in range(given.runs):
        case = draw(chance)
        with tempfile.TemporaryDirectory(prefix="killed") as folder:
            outcome = run(case, Path(folder))
        kind = f"{case.victim} {case.number.name}"
        counts[f"{kind}: {'wrong' if outcome.wrong else 'right'}"] += 1
        longest = max(longest, outcome.seconds)
        if outcome.wrong:
            print(f"run {number}: {case}: {outcome.wrong}", flush=True)
    for line, count in sorted(counts.items()):
        print(f"{line} {count}")
    print(f"longest until nothing was left: {longest:.2f} s")
    return int(any("wrong" in line for line in counts))


if __name__ == "__main__":
    raise SystemExit(main())
