"""The job in words: the line at its start, why it ended, what comes next. Pure functions."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hccl_kit.agent.assignment import SCHEDULER
from hccl_kit.agent.job import HUNG, Cause, Exited, Hung, Tell, exit_code


class End(NamedTuple):
    """What a rank has left: its log, its last lines or its traceback, and whether these end the screen already."""

    log: str
    lines: Sequence[str]
    is_traceback: bool = False
    is_shown: bool = False


def started(ranks: Mapping[int, int], host: str, port: int, more: Sequence[str], logs: str) -> str:
    """The line at the start; `ranks` are the cards by rank, `port` is 0 if the ranks need none."""
    numbers = sorted(rank for rank in ranks if rank != SCHEDULER)
    cards = " ".join(str(ranks[rank]) for rank in numbers)
    parts = [f"ranks {numbers[0]} to {numbers[-1]} on devices {cards}"] if numbers else []
    parts += ["the scheduler"] if SCHEDULER in ranks else []
    facts = ", ".join([*([f"port {port}"] if port else []), *more, f"logs in {logs}"])
    return f"{' and '.join(parts)} of {host}, {facts}\n"


def name(rank: int) -> str:
    """`rank 3`, or `scheduler`."""
    return "scheduler" if rank == SCHEDULER else f"rank {rank}"


def blamed(cause: Exited | Hung) -> int:
    """The rank that stands for the failure."""
    return cause.rank if isinstance(cause, Exited) else cause.ranks[0]


def failure(cause: Exited | Hung, ranks: Mapping[int, int], host: str, heartbeat: float, end: End) -> str:
    """Which rank failed first, how, and where its output ends."""
    if isinstance(cause, Hung):
        rank = cause.ranks[0]
        who = f"rank {rank} on device {ranks[rank]}"
        if len(cause.ranks) > 1:
            who = "ranks " + ", ".join(map(str, cause.ranks))
        what = f"{who} of {host} took no step for {heartbeat:g} s after step {cause.step}"
    else:
        card = "" if cause.rank == SCHEDULER else f" on device {ranks[cause.rank]}"
        what = f"{name(cause.rank)}{card} of {host} failed with {exit_status(cause.code)}"
    if end.is_shown:
        where = "its traceback is" if end.is_traceback else "its last lines are"
        lines = [f"  {where} above, and in {end.log}"]
    else:
        where = "its traceback, from" if end.is_traceback else "the end of"
        lines = [f"  {where} {end.log}:", *end.lines]
    return "\n".join(["", "error: " + what, *lines, ""])


def exit_status(code: int) -> str:
    """`exit code 137 (SIGKILL)`."""
    try:
        name = f" ({signal.Signals(code - 128).name})" if code > 128 else ""
    except ValueError:
        name = ""
    return f"exit code {code}{name}"


def ending(cause: Cause) -> str:
    """The note that whatever ends from now on was ended by the agent; `gone` stands for the user."""
    if isinstance(cause, Exited):
        return f"ending rank {cause.rank} {cause.code}"
    if isinstance(cause, Hung):
        return f"ending hang {cause.ranks[0]} {HUNG}"
    return f"ending gone -1 {exit_code(cause)}"


def ended_by(number: int, logs: str) -> str:
    """The job was ended by a signal of the user."""
    return f"ended by {signal.Signals(number).name}; logs in {logs}\n"


UNKILLABLE = "note: a process of a rank survives SIGKILL: it hangs in a driver\n"


def next_step(tell: Tell, max_restarts: int) -> str:
    """What the job does after a failure."""
    if tell.what == "unkillable":
        return UNKILLABLE
    if tell.what == "restart":
        return f"restart {tell.number} of {max_restarts} in {tell.step} s\n"
    steps = f"step {tell.step}, previously step {tell.last_step}"
    return f"giving up after restart {tell.number}: no progress ({steps})\n"
