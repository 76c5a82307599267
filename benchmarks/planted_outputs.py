"""What the programs and launchers of a made-up job print, beside the plogs: steps, tracebacks, torchrun's summary."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from random import Random
from signal import SIGTERM

from benchmarks.plogs import CARDS, Job, Plogs, Rank

MOST_STEPS = 12
"""Lines of steps that an output has."""


def put_steps(logs: Plogs, random: Random, begin: float, end: float) -> None:
    """Each rank prints its steps until `end`, if outputs were collected."""
    if not logs.has_outputs or end <= begin:
        return
    lines = min(MOST_STEPS, max(1, int(end - begin) // 10))
    first = random.randint(1, 4000)
    for rank in logs.job.ranks:
        for n in range(lines):
            at = begin + (end - begin) * (n + 0.5) / lines
            when = f"{moment(logs, rank, at):%Y-%m-%d %H:%M:%S}"
            text = (
                f" iteration {first + n:8}/ 50000 | elapsed time per iteration (ms): 812.4 | lm loss: {3 - n / 50:.6E}"
            )
            logs.screen(rank, at, f"[{when}]{text}")


def put_traceback(logs: Plogs, rank: Rank, at: float, frames: Sequence[tuple[str, int, str]], error: str) -> None:
    """A Python exception on the output of a rank: `frames` are file, line and function."""
    lines = ["Traceback (most recent call last):"]
    for file, line, function in frames:
        lines += [f'  File "{file}", line {line}, in {function}', f"    {function.strip('<>')}()"]
    for n, text in enumerate([*lines, *error.split("\n")]):
        logs.screen(rank, at + n / 1e4, text)


TRAIN = ("/workspace/pretrain_gpt.py", 212, "<module>")


def put_failed_calls(logs: Plogs, random: Random) -> None:
    """The programs of ranks that gave up waiting end with torch_npu's exception, without a time of its own."""
    for rank in logs.job.ranks:
        at = logs.last_error(rank)
        if at is None or rank.number in logs.exits or at > logs.ends.get(rank.number, at):
            continue
        at += random.random()
        call = "HcclAllreduce" if random.random() < 0.5 else "ACL stream synchronize"
        error = f"RuntimeError: operator():build/compiler_depend.ts:91 HCCL function error: {call}, error code is 4"
        if call.startswith("ACL"):
            error = "RuntimeError: ACL stream synchronize failed, error code:507048"
        put_traceback(logs, rank, at, (TRAIN, ("/workspace/training.py", 733, "train_step")), error)
        when = f"{moment(logs, rank, at):%Y-%m-%d-%H:%M:%S}"
        number = rank.number if random.random() < 0.5 else -1
        where = f"(PID:{rank.pid}, Device:{rank.card}, RankID:{number})"
        logs.screen(rank, at + 0.01, f"[ERROR] {when} {where} ERR02200 DIST call hccl api failed.")
        logs.exits[rank.number] = at + 1, 1
        logs.ends[rank.number] = min(at + 1.5, logs.ends.get(rank.number, at + 1.5))


def put_launchers(logs: Plogs) -> None:
    """torchrun's summary on each server that was not lost: which process it saw fail first, and the others."""
    job = logs.job
    for server in sorted(set(range(job.servers)) - logs.gone):
        ranks = job.ranks[server * CARDS : (server + 1) * CARDS]
        ended = sorted((logs.exits[rank.number], rank) for rank in ranks if rank.number in logs.exits)
        if not ended:
            continue
        (time, code), first = ended[0]
        rest = [rank for rank in ranks if rank != first]
        for rank in rest:
            logs.ends[rank.number] = min(time + 5, logs.ends.get(rank.number, time + 5))
        others = [_block(logs, n, rank, *_end(logs, rank, time)) for n, rank in enumerate(rest, 1)]
        double, single = "=" * 60, "-" * 60
        root = _block(logs, 0, first, time, code)
        parts = [double, "/workspace/pretrain_gpt.py FAILED", single, "Failures:", *others, single]
        parts += ["Root Cause (first observed failure):", root, double, ""]
        logs.texts[f"{first.folder}/torchrun.log"] = "\n".join(parts)


def _end(logs: Plogs, rank: Rank, first: float) -> tuple[float, int]:
    """When and how a process ended: torchrun ends those that are left soon after the first."""
    time, code = logs.exits.get(rank.number, (first + 9, 0))
    return (time, code) if time < first + 2 else (first + 5, -SIGTERM)


def _block(logs: Plogs, number: int, rank: Rank, time: float, code: int) -> str:
    when = f"{moment(logs, rank, time):%Y-%m-%d_%H:%M:%S}"
    trace = f"Signal {-code} received by PID {rank.pid}" if code < 0 else "To enable traceback see: https://pytorch.org"
    return (
        f"[{number}]:\n  time      : {when}\n  host      : {rank.host}\n"
        f"  rank      : {rank.number} (local_rank: {rank.card})\n"
        f"  exitcode  : {code} (pid: {rank.pid})\n  error_file: <N/A>\n  traceback : {trace}"
    )


def put_watchdog(logs: Plogs, rank: Rank, at: float, sequence: int, operator: str = "ALLREDUCE") -> None:
    """torch's watchdog gives up on a collective."""
    when = moment(logs, rank, at)
    glog = f"[rank{rank.number}]:[E{when:%m%d %H:%M:%S}.{when.microsecond:06}000 ProcessGroupHCCL.cpp:1183]"
    work = f"WorkHCCL(SeqNum={sequence}, OpType={operator}, Timeout(ms)=1800000)"
    text = f"{glog} [PG ID 0 PG GUID 0 Rank {rank.number}] Watchdog caught collective operation timeout: {work}"
    logs.screen(rank, at, f"{text} ran for {1800000 + rank.number} milliseconds before timing out.")


def moment(logs: Plogs, rank: Rank, time: float) -> datetime:
    """A time as the clock of a rank's server shows it."""
    return datetime.fromtimestamp(time + logs.clock_errors[rank.server], timezone.utc)


def syslog(logs: Plogs, rank: Rank, time: float, text: str) -> str:
    """A line of /var/log/messages of a rank's server."""
    return f"{moment(logs, rank, time):%b %d %H:%M:%S} {rank.folder.replace('.', '-')} kernel: {text}\n"


def names_of(job: Job, server: int) -> frozenset[int]:
    """The ranks of a server."""
    return frozenset(rank.number for rank in job.ranks if rank.server == server)
