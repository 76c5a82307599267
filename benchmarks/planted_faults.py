"""Logs of failed jobs with a planted culprit, and how often `hccl-kit diagnose` names it.

python -m benchmarks.planted_faults --runs 1000 --seed 1
python -m benchmarks.planted_faults --seed 417 --keep logs    # one job, whose logs stay

The logs are made from the published facts of HCCL's logs, without a look at the code that judges them. A culprit is
planted, others fail as a consequence, and then logs are lost, clocks are wrong and files are cut. An answer is right if
it names the culprit; "one of several" if it says that several ranks may be it, and the culprit is among them.
"""

from __future__ import annotations

import argparse
import re
import resource
import time
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

from benchmarks.planted_effects import Planted, trains
from benchmarks.planted_kinds import KINDS
from benchmarks.planted_outputs import put_failed_calls, put_launchers
from benchmarks.plog_records import put_harmless
from benchmarks.plogs import CARDS, Job, Plogs, new_job
from hccl_kit import Card, Host, KitError, RankTable, generate_cluster
from hccl_kit.diagnosis.job import diagnose
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, Suspect

Score = Literal["right", "another cause", "one of several", "cannot tell", "wrong"]
SCORES: tuple[Score, ...] = ("right", "another cause", "one of several", "cannot tell", "wrong")
SIZES = {8: 30, 16: 25, 24: 10, 32: 12, 64: 10, 128: 6, 256: 4, 512: 2, 1024: 1}
"""Number of ranks -> relative frequency of such jobs."""


BESIDE = 30
"""Second number in the addresses of another replica."""


class Failure(NamedTuple):
    """One job: what was planted, and what was done to its logs."""

    seed: int
    job: Job
    planted: Planted
    disturbances: tuple[str, ...]
    table: RankTable | None
    is_damaged: bool = False
    """Logs of a culprit are lost, or files are cut: then the rank is asked for, and not the cause."""


class Result(NamedTuple):
    """The diagnosis of a job in a few words, and its score."""

    failure: Failure
    score: Score
    said: str


def make(seed: int, folder: Path, *, max_ranks: int = 1024) -> Failure:
    """Write the logs of the failed job with this seed."""
    random = Random(seed)
    sizes = {size: weight for size, weight in SIZES.items() if size <= max_ranks}
    job = new_job(random, random.choices(list(sizes), list(sizes.values()))[0])
    logs = Plogs(job, random)
    disturbances = []
    if random.random() < 0.5:
        disturbances.append("clocks wrong")
        logs.clock_errors = [random.uniform(-1800, 1800) for _ in range(job.servers)]
    logs.has_outputs = random.random() < 0.5
    planted = KINDS[seed % len(KINDS)](logs, random)
    job = logs.job
    if logs.has_outputs:
        disturbances.append("outputs")
        put_failed_calls(logs, random)
        put_launchers(logs)
    if random.random() < 1 / 3:
        disturbances.append("harmless errors")
        for rank in random.sample(job.ranks, random.choice((1, CARDS, len(job.ranks)))):
            put_harmless(logs, rank, job.start - random.random() * 5)
    if random.random() < 0.1:
        disturbances.append("another replica")
        _replica(random, job).write(folder / "replica-1")
        folder /= "replica-0"
    lost: frozenset[int] = frozenset()
    if random.random() < 0.35:
        disturbances.append("logs lost")
        lost = _lost(job, random)
    paths = logs.write(folder, without=lost)
    is_cut = random.random() < 0.35
    if is_cut:
        disturbances.append("files cut")
        for path in sorted(paths):
            if random.random() < 0.3:
                data = path.read_bytes()
                path.write_bytes(data[: random.randint(0, len(data))])
    table = _table(job) if random.random() < 0.5 else None
    is_damaged = is_cut or bool(lost & planted.culprits)
    return Failure(seed, job, planted, tuple(disturbances) or ("none",), table, is_damaged)


def _replica(random: Random, job: Job) -> Plogs:
    """Another replica of the job on other servers, in which nothing fails until it is ended."""
    other = new_job(random, len(job.ranks), network=BESIDE)._replace(start=job.start + random.random() * 60)
    logs = Plogs(other, random)
    trains(logs, random)
    return logs


def _lost(job: Job, random: Random) -> frozenset[int]:
    """The logs of a server, or of a rank."""
    if job.servers > 1 and random.random() < 0.7:
        server = random.randrange(job.servers)
        return frozenset(rank.number for rank in job.ranks if rank.server == server)
    return frozenset({random.randrange(len(job.ranks))})


def _table(job: Job) -> RankTable:
    starts = range(0, len(job.ranks), CARDS)
    cards = [{rank.card: Card(ip=rank.address) for rank in job.ranks[start : start + CARDS]} for start in starts]
    hosts = [Host(job.ranks[start].host, of_host) for start, of_host in zip(starts, cards, strict=True)]
    return generate_cluster(hosts, version="1.0")


def score(failure: Failure, diagnosis: Diagnosis) -> Score:
    """Compare the diagnosis with the planted fault."""
    if diagnosis.first_fault is None:
        return "cannot tell"
    culprits = failure.planted.culprits
    if _number(failure.job, diagnosis.first_fault.suspect) in culprits or _is_host_of(failure, diagnosis):
        return "right" if failure.is_damaged or has_cause(failure.planted, diagnosis) else "another cause"
    suspects = {_number(failure.job, one) for one in diagnosis.suspects}
    is_open = len(suspects) > 1 and diagnosis.certainty == "likely"
    return "one of several" if is_open and suspects & culprits else "wrong"


def _is_host_of(failure: Failure, diagnosis: Diagnosis) -> bool:
    """Whether an answer names a host, and a culprit is there: then nothing tells which of its processes it is."""
    names = {diagnosis.first_fault.suspect.server} if diagnosis.first_fault and diagnosis.where == "host" else set()
    return any(
        {failure.job.ranks[number].host, failure.job.ranks[number].folder} & names
        for number in failure.planted.culprits
    )


def has_cause(planted: Planted, diagnosis: Diagnosis) -> bool:
    """Whether an answer names what was planted, by rule, code, phrase or fix."""
    fault = diagnosis.first_fault
    if fault is None:
        return False
    printed = " ".join(filter(None, (fault.rule, fault.code, fault.kind, diagnosis.fix)))
    return any(re.search(cause, printed) for cause in planted.causes)


def _number(job: Job, suspect: Suspect) -> int | None:
    """The rank of a suspect, found by server and card if the rank is not named."""
    of_server = [rank for rank in job.ranks if suspect.server in (rank.host, rank.folder, f"replica-0/{rank.folder}")]
    if suspect.rank is not None:
        is_elsewhere = suspect.server is not None and re.match(rf"10\.{BESIDE}\.|replica-1", suspect.server)
        return None if is_elsewhere else suspect.rank
    return next((rank.number for rank in of_server if suspect.device in (rank.card, None)), None)


def run(seed: int, max_ranks: int, keep: Path | None = None) -> Result:
    """Make a job, diagnose it and score the answer."""
    with TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        failure = make(seed, folder, max_ranks=max_ranks)
        try:
            diagnosis = diagnose([folder], failure.table)
        except KitError as error:
            return Result(failure, "cannot tell", error.message)
    fault = diagnosis.first_fault
    said = f"{diagnosis.certainty}: rank {fault.suspect.rank}, {fault.kind}" if fault else diagnosis.reason
    return Result(failure, score(failure, diagnosis), said)


def tables(results: list[Result]) -> Iterator[str]:
    """The scores by kind, and by what was done to the logs, as Markdown."""
    yield from _table_of("planted", [(one.failure.planted.kind, one.score) for one in results])
    yield ""
    by_disturbance = [(name, one.score) for one in results for name in one.failure.disturbances]
    yield from _table_of("logs", by_disturbance)


def _table_of(heading: str, pairs: list[tuple[str, Score]]) -> Iterator[str]:
    yield f"| {heading} | runs | {' | '.join(SCORES)} |"
    yield f"|---|---{'|---' * len(SCORES)}|"
    for name in sorted({name for name, _ in pairs}):
        counts = Counter(score for other, score in pairs if other == name)
        yield f"| {name} | {counts.total()} | {' | '.join(str(counts[one]) for one in SCORES)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each run has the next one")
    parser.add_argument("--max-ranks", type=int, default=1024)
    parser.add_argument("--keep", type=Path, help="write the logs of the only run into this folder")
    parser.add_argument("--show", choices=SCORES, action="append", default=["wrong"], help="also list these runs")
    arguments = parser.parse_args()
    if arguments.keep and arguments.runs != 1:
        parser.error("--keep is for one run")
    started = time.monotonic()
    results = []
    for seed in range(arguments.seed, arguments.seed + arguments.runs):
        result = run(seed, arguments.max_ranks, arguments.keep)
        results.append(result)
        if result.score in arguments.show or arguments.runs == 1:
            print(describe(result), flush=True)
    print(*tables(results), sep="\n")
    total = Counter(one.score for one in results)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"\n{date.today()}, seeds from {arguments.seed}: {dict(total)}, {time.monotonic() - started:.0f} s, {memory} MB"
    )


def describe(result: Result) -> str:
    """A run as one line."""
    failure, planted = result.failure, result.failure.planted
    culprits = sorted(planted.culprits)
    where = f"rank {culprits[0]}" if len(culprits) == 1 else f"ranks {culprits[0]} to {culprits[-1]}"
    what = f"{len(failure.job.ranks)} ranks, {failure.job.release}, {', '.join(failure.disturbances)}"
    return f"seed {failure.seed} ({what}): planted {planted.kind} on {where}; {result.score}: {result.said}"


if __name__ == "__main__":
    main()
