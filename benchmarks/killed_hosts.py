"""Jobs on 2 or 3 hosts over ssh of which a random process is killed, or a cable is pulled: what is left, who is named.

    python -m benchmarks.killed_hosts --runs 200 --seed 1

Hosts are network namespaces with an sshd each (tests/lab, needs root); `hccl-kit run --ssh` starts the job from this
machine, two ranks on each host, each with a child in a session of its own. Right: 20 s after the signal no process of
the job is left on any host; a killed rank is named and gives its exit code; a server whose agent, ssh, sshd or cable is
gone is named, with exit code 2; a job whose guard or a child of whose ranks is killed goes on, and ends as it is told
to. The figures are counts, and the longest time from the signal until nothing was left.
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
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks.killed_processes import PROGRAM, Outcome
from tests.lab.hosts import Hosts, hosts
from tests.launch.nodes import RANKS, NodesJob, python_nodes_job
from tests.waiting import wait_until

Victim = Literal["rank", "child", "guard", "agent", "ssh", "sshd", "starter", "cable"]
VICTIMS: tuple[Victim, ...] = ("rank", "child", "guard", "agent", "ssh", "sshd", "starter", "cable")
PATIENCE = 20.0
"""Seconds from the signal until nothing may be left."""


class Loss(NamedTuple):
    """What happens to a job `after` its ranks were started, in seconds: to the host of `rank`, or to the rank."""

    hosts: int
    victim: Victim
    number: signal.Signals
    after: float
    rank: int


class Process(NamedTuple):
    """A process of a host: its words and its variables."""

    pid: int
    words: list[bytes]
    variables: list[bytes]


def draw(chance: random.Random) -> Loss:
    """A random case."""
    count = chance.choice((2, 3))
    number = chance.choice((signal.SIGKILL, signal.SIGTERM))
    return Loss(count, chance.choice(VICTIMS), number, chance.uniform(0, 0.5), chance.randrange(count * RANKS))


def run(case: Loss, folder: Path, lab: Hosts) -> Outcome:
    """Start a job, do what the case says, and look at what is left."""
    job = python_nodes_job(folder, PROGRAM, lab=lab, ids=lab.addresses[: case.hosts])
    process = job.start()
    if not wait_until(lambda: job.all_say("ready", case.hosts * RANKS)):
        process.kill()
        raise TimeoutError(f"the job has not started: {process.communicate()}")
    time.sleep(case.after)
    host = case.rank // RANKS
    if case.victim == "cable":
        lab.cut(host)
    else:
        os.kill(_victim(case, job, lab, process), case.number)
    if case.victim in ("child", "guard"):
        time.sleep(0.7)  # longer than the agent takes to look at its guard
        process.terminate()
    began = time.monotonic()
    _, said = process.communicate(timeout=120)
    left = wait_until(lambda: not _left(job, lab), max(0.0, PATIENCE - (time.monotonic() - began)))
    seconds = time.monotonic() - began
    if case.victim == "cable":
        lab.heal(host)
    wrong = _wrong(case, lab, process, said) if left else f"left after {seconds:.1f} s: {_left(job, lab)}"
    return Outcome(wrong, seconds)


def _wrong(case: Loss, lab: Hosts, process: subprocess.Popen[str], said: str) -> str:
    """What is wrong about the exit code and the last lines; empty if nothing is."""
    address = lab.addresses[case.rank // RANKS]
    code, name = 2, f"error: server {address} does not answer or was lost"
    if case.victim == "rank":
        code = 128 + case.number
        name = f"error: rank {case.rank} on device {case.rank % RANKS} of {address} failed with exit code {code}"
    elif case.victim in ("child", "guard") or (case.victim == "starter" and case.number == signal.SIGTERM):
        code, name = 143, "ended by SIGTERM"
    elif case.victim == "starter":
        code, name = -signal.SIGKILL, ""
    if name not in said:
        return f"not said: {name}; but: {said.strip()[-300:]}"
    return "" if process.returncode == code else f"exit code {process.returncode}, not {code}"


def _victim(case: Loss, job: NodesJob, lab: Hosts, starter: subprocess.Popen[str]) -> int:
    if case.victim == "starter":
        return starter.pid
    host = case.rank // RANKS
    address = lab.addresses[host].encode()
    if case.victim == "ssh":
        children = Path(f"/proc/{starter.pid}/task/{starter.pid}/children").read_text().split()
        return next(child.pid for child in map(_process, map(int, children)) if child and address in child.words)
    return next(one.pid for one in _processes(lab, host) if _is(one, case, str(job.folder).encode()))


def _is(one: Process, case: Loss, folder: bytes) -> bool:
    of_rank = b"RANK=%d" % case.rank in one.variables and any(folder in word for word in one.words)
    if case.victim == "rank":
        return of_rank and b"-c" not in one.words
    if case.victim == "child":
        return of_rank and b"-c" in one.words
    if case.victim == "guard":
        return b"-S" in one.words
    if case.victim == "agent":
        return one.words[-1:] == [b"--member"] and b"-I" in one.words
    return bool(one.words) and b"@notty" in one.words[0]


def _processes(lab: Hosts, host: int) -> Iterator[Process]:
    yield from filter(None, map(_process, lab.processes(host)))


def _process(pid: int) -> Process | None:
    with suppress(OSError):
        words, variables = (Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
        return Process(pid, words.rstrip(b"\0").split(b"\0"), variables.split(b"\0"))
    return None


def _left(job: NodesJob, lab: Hosts) -> list[str]:
    """The processes of the job, on all hosts; an sshd may still wait for a peer that is gone."""
    agents = [
        b" ".join(one.words)[-100:].decode(errors="replace")
        for host in range(len(lab.addresses))
        for one in _processes(lab, host)
        if one.words[-1:] == [b"--member"] or b"-S" in one.words
    ]
    return [*job.processes(), *agents]


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each kind, and every case that went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    chance = random.Random(given.seed)
    counts: Counter[str] = Counter()
    longest: dict[str, float] = {}
    with hosts(3) as lab:
        for number in range(given.runs):
            case = draw(chance)
            with tempfile.TemporaryDirectory(prefix="killed", ignore_cleanup_errors=True) as folder:
                outcome = run(case, Path(folder), lab)
            kind = case.victim if case.victim == "cable" else f"{case.victim} {case.number.name}"
            counts[f"{kind}: {'wrong' if outcome.wrong else 'right'}"] += 1
            longest[kind] = max(longest.get(kind, 0.0), outcome.seconds)
            if outcome.wrong:
                print(f"run {number}: {case}: {outcome.wrong}", flush=True)
    for line, count in sorted(counts.items()):
        print(f"{line} {count}, at most {longest[line.rpartition(':')[0]]:.1f} s")
    print(f"load {os.getloadavg()[1]:.1f}")
    return int(any("wrong" in line for line in counts))


if __name__ == "__main__":
    raise SystemExit(main())
