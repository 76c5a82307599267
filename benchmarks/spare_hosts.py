"""Jobs of 2 or 3 servers with 1 or 2 spares, which lose hosts at random moments, and how they go on.

    python -m benchmarks.spare_hosts --runs 100 --seed 1

Hosts are network namespaces with an sshd each (tests/lab, needs root); the job is started from this machine by
`hccl-kit run --ssh --spares`. A loss is a cable that is pulled, all processes of a host killed, or
both. Right: the spare has the ranks and cards of the lost host, all other ranks are where they were, all have one table
that the rules accept, the parameters are those of an undisturbed run, and no process is left.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from hccl_kit.check.engine import check_text
from tests.lab.hosts import hosts
from tests.launch.nodes import RANKS
from tests.launch.spare_jobs import LOSSES, SpareJob, spare_job

STEPS = 120
PATIENCE = 300.0


class Loss(NamedTuple):
    """The place in the table that is lost, how, and when, in seconds after the first step."""

    place: int
    how: str
    moment: float


class Result(NamedTuple):
    """What went wrong, and the seconds from each loss to the next step of the job."""

    faults: list[str]
    seconds: list[float]


def draw(dice: random.Random) -> tuple[int, int, list[Loss]]:
    """A random number of servers and of spares, and random losses."""
    servers, spares = dice.choice((2, 3)), dice.choice((1, 2))
    count = dice.randint(1, spares)
    losses = [Loss(dice.randrange(servers), dice.choice(LOSSES), dice.uniform(0.0, 1.5)) for _ in range(count)]
    return servers, spares, losses


def run(servers: int, spares: int, losses: list[Loss]) -> Result:
    """One job, in a lab of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="spare_hosts-") as folder,
        hosts(servers + spares) as lab,
        spare_job(Path(folder), lab, servers) as job,
    ):
        process = job.begin(steps=STEPS)
        host_of, seconds, faults = list(range(servers)), list[float](), list[str]()
        for number, loss in enumerate(losses):
            _wait_for_step(number, process, job)
            time.sleep(loss.moment)
            before = job.where(number)
            began = time.monotonic()
            job.lose_host(host_of[loss.place], loss.how)
            _wait_for_step(number + 1, process, job)
            seconds.append(time.monotonic() - began)
            host_of[loss.place] = servers + number
            faults += _misplaced(job, number + 1, before, host_of)
        code = process.wait(timeout=PATIENCE)
        if code != 0:
            faults.append(f"exit code {code}: {job.screen[-300:]}")
        if left := job.left():
            faults.append(f"left behind: {left[:3]}")
        if (found := set(job.results())) != {undisturbed(servers)}:
            faults.append(f"{len(found)} different parameters, or others than undisturbed")
        return Result(faults, seconds)


def _misplaced(job: SpareJob, attempt: int, before: dict[int, dict[str, object]], host_of: list[int]) -> list[str]:
    """The faults of an attempt: ranks on a wrong host or device, unequal tables, an invalid table."""
    now, faults = job.where(attempt), []
    for rank in range(job.servers * RANKS):
        host = f"node{host_of[rank // RANKS] + 1}"
        if (now[rank]["host"], now[rank]["device"]) != (host, before[rank]["device"]):
            faults.append(f"rank {rank} is on {now[rank]}, not on {host}")
    if len({place["sha256"] for place in now.values()}) != 1:
        faults.append("the ranks have different tables")
    digest = next(iter(now.values()))["sha256"][:12]
    (path,) = job.logs.glob(f"*-{digest}.json")
    if not check_text(path.read_text(), path.name).ok:
        faults.append(f"{path.name} is not valid")
    return faults


@functools.cache
def undisturbed(servers: int) -> str:
    """The digest of the parameters of a job that loses no host."""
    with (
        tempfile.TemporaryDirectory(prefix="spare_hosts-") as folder,
        hosts(servers + 1) as lab,
        spare_job(Path(folder), lab, servers) as job,
    ):
        code = job.begin(steps=STEPS).wait(timeout=PATIENCE)
        (digest,) = set(job.results())
        if code != 0 or digest == "none":
            raise RuntimeError(f"the undisturbed run ended with {code}: {job.screen}")
        return digest


def _wait_for_step(attempt: int, process: subprocess.Popen[str], job: SpareJob) -> None:
    end = time.monotonic() + PATIENCE
    while not job.step(attempt):
        if time.monotonic() > end or process.poll() is not None:
            raise RuntimeError(f"the job did not go on: {job.screen[-500:]}")
        time.sleep(0.05)


def main() -> None:
    """Print a line for each run, and the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    dice, waits, right, lost = random.Random(args.seed), dict[str, list[float]](), 0, 0
    for number in range(args.runs):
        servers, spares, losses = draw(dice)
        try:
            result = run(servers, spares, losses)
        except Exception as error:
            result = Result([f"{type(error).__name__}: {error}"], [])
        right += not result.faults
        lost += len(losses)
        for loss, seconds in zip(losses, result.seconds, strict=False):
            waits.setdefault(loss.how, []).append(seconds)
        planned = ", ".join(f"{loss.how} place {loss.place} after {loss.moment:.1f} s" for loss in losses)
        seconds_each = " ".join(f"{seconds:.1f}" for seconds in result.seconds)
        print(
            f"{number + 1:3} {'right' if not result.faults else 'WRONG'} {servers}+{spares} {planned}: {seconds_each} s"
        )
        for fault in result.faults:
            print(f"    {fault}")
        print(end="", flush=True)
    print(f"\n{right} of {args.runs} jobs right, {lost} hosts lost, seed {args.seed}, load {os.getloadavg()[1]:.1f}")
    print("loss   hosts  median s  worst s")
    waits["all"] = [one for some in waits.values() for one in some]
    for how, took in waits.items():
        if took:
            print(f"{how:6} {len(took):5} {statistics.median(took):9.1f} {max(took):8.1f}")


if __name__ == "__main__":
    main()
