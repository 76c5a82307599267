"""The job in words, in a language: the line at its start, why it ended, what comes next. Pure functions."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hccl_kit.agent.assignment import SCHEDULER
from hccl_kit.agent.job import HUNG, Cause, Exited, Hung, Lost, Tell, exit_code
from hccl_kit.agent.texts import phrase

if TYPE_CHECKING:
    from hccl_kit.agent.texts import Texts


class End(NamedTuple):
    """What a rank has left: its log, its last lines or its traceback, and whether these end the screen already."""

    log: str
    lines: Sequence[str]
    is_traceback: bool = False
    is_shown: bool = False


def started(texts: Texts, ranks: Mapping[int, int], host: str, port: int, *, more: Sequence[str], logs: str) -> str:
    """The line at the start; `ranks` are the cards by rank, `port` is 0 if the ranks need none."""
    numbers = sorted(rank for rank in ranks if rank != SCHEDULER)
    if numbers:
        id_ = "agent.ranks-and-scheduler" if SCHEDULER in ranks else "agent.ranks"
        cards = " ".join(str(ranks[rank]) for rank in numbers)
        who = phrase(texts, id_, first=numbers[0], last=numbers[-1], cards=cards, host=host)
    else:
        who = phrase(texts, "agent.scheduler", host=host)
    ports = [phrase(texts, "agent.port", port=port)] if port else []
    facts = [who, *ports, *more, phrase(texts, "agent.logs", folder=logs)]
    return phrase(texts, "agent.between-facts").join(facts) + "\n"


def no_steps(texts: Texts, heartbeat: float) -> str:
    """The note that --heartbeat-timeout has nothing to go by."""
    return phrase(texts, "agent.no-steps", seconds=f"{heartbeat:g}") + "\n"


def name(rank: int) -> str:
    """`rank 3`, or `scheduler`: in the name of its log."""
    return "scheduler" if rank == SCHEDULER else f"rank {rank}"


def blamed(cause: Exited | Hung) -> int:
    """The rank that stands for the failure."""
    return cause.rank if isinstance(cause, Exited) else cause.ranks[0]


def failure(
    texts: Texts, cause: Exited | Hung, ranks: Mapping[int, int], host: str, *, heartbeat: float, end: End
) -> str:
    """Which rank failed first, how, and where its output ends."""
    rank = blamed(cause)
    card = ranks[rank]
    if isinstance(cause, Exited):
        id_ = "agent.scheduler-failed" if rank == SCHEDULER else "agent.rank-failed"
        what = phrase(texts, id_, rank=rank, card=card, host=host, status=exit_status(texts, cause.code))
    else:
        id_ = "agent.ranks-still" if len(cause.ranks) > 1 else "agent.rank-still"
        several, seconds = phrase(texts, "agent.between-ranks").join(map(str, cause.ranks)), f"{heartbeat:g}"
        what = phrase(texts, id_, rank=rank, ranks=several, card=card, host=host, seconds=seconds, step=cause.step)
    where = f"agent.{'traceback' if end.is_traceback else 'lines'}{'-above' if end.is_shown else ''}"
    lines = [] if end.is_shown else end.lines
    return "\n".join(["", what, "  " + phrase(texts, where, log=end.log), *lines, ""])


def exit_status(texts: Texts, code: int) -> str:
    """`exit code 137 (SIGKILL)`."""
    try:
        return phrase(texts, "agent.killed", code=code, signal=signal.Signals(code - 128).name)
    except ValueError:  # no signal
        return phrase(texts, "agent.exit-code", code=code)


def notes_of(cause: Cause) -> list[str]:
    """The notes that whatever ends from now on was ended by the agent; `gone` stands for the user or a lost server."""
    if isinstance(cause, Exited):
        return [f"ending rank {cause.rank} {cause.code}"]
    if isinstance(cause, Hung):
        return [f"ending hang {cause.ranks[0]} {HUNG}"]
    return [*([cause.note] if isinstance(cause, Lost) else []), f"ending gone -1 {exit_code(cause)}"]


def next_step(texts: Texts, tell: Tell, max_restarts: int) -> str:
    """What the job does after a failure."""
    id_ = {"unkillable": "agent.unkillable", "restart": "agent.restart"}.get(tell.what, "agent.no-progress")
    said = phrase(
        texts, id_, number=tell.number, most=max_restarts, seconds=tell.step, step=tell.step, before=tell.last_step
    )
    return said + "\n"
