"""What may have ended a job, or keeps it waiting: one function each, asked in the order of CAUSES.

A rank that fails inside a collective is taken for a victim: its peers went first. What a rank does outside of one, it
does by itself.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from hccl_kit.base.wording import listed, plural
from hccl_kit.check.rule import Rule
from hccl_kit.diagnosis import first_faults as rules
from hccl_kit.diagnosis.logs.facts import Place
from hccl_kit.diagnosis.verdict.diagnosis import Certainty
from hccl_kit.diagnosis.verdict.recorded.job import End, Entry, Job, Rank, most_common

STILL = 4.0
"""Seconds without a sign of life, which comes every second, after which a process stands still."""
FRONT = 3
"""Collectives before the last of a rank in which a divergence is the reason why the job stands."""
FULL = re.compile(r"No space left on device|Errno 28\b|Disk quota exceeded|Errno 122\b")
JOINT = re.compile(
    r"rank ([0-9]{1,7})(?: on \S+)? has another (.{1,200}?) than rank ([0-9]{1,7})\b.*?"
    r"\(([0-9]{1,7}) of ([0-9]{1,7}) ranks differ\)",
    re.DOTALL,
)


class Cause(NamedTuple):
    """What went wrong first. `ranks`: those that it may be, the most suspect first; empty: a server as a whole."""

    ranks: tuple[int, ...]
    kind: str
    certainty: Certainty
    why: str
    fix: str
    time: float | None = None
    place: Place | None = None
    server: str | None = None
    rule: str | None = None


def diverged(job: Job) -> Cause | None:
    """The n-th collective is not the same for all ranks, and the job got no further."""
    reached = [max(rank.entries) for rank in job.ranks.values() if rank.entries]
    if len(reached) < 2:
        return None
    for number in range(min(reached), max(0, min(reached) - FRONT), -1):
        for differs in (_what, _step):
            if _differ(job, number, differs):
                while _differ(job, number - 1, differs):
                    number -= 1  # noqa: PLW2901  # where it began
                return _divergence(job, number, _entries(job, number), differs)
    return None


def _entries(job: Job, number: int) -> dict[int, Entry]:
    return {rank.number: rank.entries[number] for rank in job.ranks.values() if number in rank.entries}


def _differ(job: Job, number: int, differs: Callable[[Entry], object]) -> bool:
    return len({differs(entry) for entry in _entries(job, number).values()}) > 1


def _what(entry: Entry) -> object:
    return entry.what


def _step(entry: Entry) -> object:
    return entry.step


def _divergence(job: Job, number: int, entries: dict[int, Entry], differs: Callable[[Entry], object]) -> Cause:
    usual, is_clear = _usual(job, number, entries, differs)
    odd = [rank for rank, entry in entries.items() if differs(entry) not in usual] if is_clear else list(entries)
    first = entries[odd[0]]
    other = next(entry for entry in entries.values() if differs(entry) != differs(first))
    if first.what != other.what:
        kind = f"entered {_named(first)} where the others entered {_named(other)}, in step {first.step}"
    else:
        kind = f"was in step {first.step} where the others were in step {other.step}: it skipped a collective"
    return Cause(
        tuple(odd),
        kind,
        "certain" if is_clear and len(odd) == 1 else "likely",
        f"collective {number} is {_named(first)} of step {first.step} for {_ranks(odd)}, "
        f"and {_named(other)} of step {other.step} for the others",
        "all ranks must take the same path: look for a condition on the rank, its data or its clock",
        first.begun,
        first.place,
    )


def _usual(
    job: Job, number: int, entries: dict[int, Entry], differs: Callable[[Entry], object]
) -> tuple[list[object], bool]:
    """What was to be expected as collective `number`: what most ranks did, or else what followed the same before."""
    most = most_common(differs(entry) for entry in entries.values())
    if len(most) == 1:
        return most, True
    expected = {sign for rank in job.ranks.values() for sign in _followers(rank, number)}
    fitting = [rank for rank, entry in entries.items() if _sign(job.ranks[rank], number) in expected]
    found = {differs(entries[rank]) for rank in fitting}
    return list(found), 0 < len(found) < len(most)


Sign = tuple[object, int]


def _sign(rank: Rank, number: int) -> Sign | None:
    """A collective apart from its number: what it is, and the steps since the one before."""
    own, before = rank.entries.get(number), rank.entries.get(number - 1)
    if own is None or before is None:
        return None
    return own.what, (own.step or 0) - (before.step or 0)


def _followers(rank: Rank, number: int) -> Iterable[Sign]:
    """What came after collectives like the two before `number`, earlier on."""
    context = _sign(rank, number - 2), _sign(rank, number - 1)
    if None in context:
        return
    for earlier in rank.entries:
        if earlier < number and (_sign(rank, earlier - 2), _sign(rank, earlier - 1)) == context:
            follower = _sign(rank, earlier)
            if follower is not None:
                yield follower


def inconsistent(job: Job) -> Cause | None:
    """The ranks compared what they have, and all of them gave up."""
    for rank in job.ranks.values():
        found = JOINT.search(rank.program_end.message) if rank.program_end else None
        if found and rank.program_end:
            one, what, other = int(found[1]), found[2], int(found[3])
            differing, size = int(found[4]), int(found[5])
            odd = [one] if differing * 2 < size else [one, other] if differing * 2 == size else [other]
            than = one if odd[0] == other else other
            return Cause(
                tuple(odd),
                f"has another {what} than rank {than}, found in step {rank.step or 0}",
                "certain" if differing == 1 and size > 2 else "likely",
                f"all ranks compared their {what}: {differing} of {size} differ from rank {other}",
                "start all ranks with the same code, configuration and files",
                rank.program_end.time,
                rank.program_end.place,
            )
    return None


def failed(job: Job) -> Cause | None:
    """The first rank that ended by itself and did not succeed; a rank inside a collective is the victim of another.

    With SIGTERM the scripts end their ranks once they have lost a server.
    """
    ended = [(rank, rank.end) for rank in job.ranks.values() if rank.end and _is_failure(rank.end)]
    own = [
        (rank, end)
        for rank, end in ended
        if not _is_victim(rank, end) and not (job.lost and end.signal == signal.SIGTERM)
    ]
    if not own:
        return None
    rank, end = min(own, key=lambda pair: _order(pair[0].corrected(pair[1].time)))
    others = len(ended) - 1
    return Cause(
        (rank.number,),
        _ending(rank, end),
        "certain",
        f"it ended by itself, and {plural('other rank', others)} failed" if others else "it alone ended by itself",
        _ending_fix(end),
        end.time,
        end.place,
    )


def _is_failure(end: End) -> bool:
    return end.how != "done" and (bool(end.how) or end.code != 0)


def _is_victim(rank: Rank, end: End) -> bool:
    if FULL.search(end.message) or end.signal not in (None, signal.SIGABRT):
        return False
    return rank.inside is not None


def _ending(rank: Rank, end: End) -> str:
    if FULL.search(end.message):
        return f"found the disk full, in step {rank.step}: {_short(end.message)}"
    if end.how:
        return f"failed with {end.how} in step {rank.step}: {_short(end.message)}"
    if end.signal is not None:
        more = " (by hand, or for lack of memory)" if end.signal == signal.SIGKILL else ""
        return f"was killed by {_signal(end.signal)}{more} in step {rank.step}"
    return f"ended with exit code {end.code} in step {rank.step}, without an exception"


def _ending_fix(end: End) -> str:
    if FULL.search(end.message):
        return "make room on that disk, or write to another one"
    if end.signal == signal.SIGKILL:
        return "look for the out-of-memory killer on that server: dmesg -T | grep -i -E 'out of memory|oom'"
    return "see the end of its log"


def lost_server(job: Job) -> Cause | None:
    """All ranks of a server fell silent together, or another server lost the connection to it."""
    silent = {rank.number for rank in job.ranks.values() if _is_still(job, rank)}
    gone = silent | {rank.number for rank in job.ranks.values() if rank.end and rank.end.signal == signal.SIGTERM}
    accused = most_common(lost.fact for lost in job.lost)
    for lost in job.lost:
        of_server = [job.ranks[number] for number in lost.fact.ranks if number in job.ranks]
        is_silent = all(rank.number in gone for rank in of_server) and (not of_server or bool(silent))
        if is_silent or (len(accused) == 1 and lost.fact in accused and not silent):
            step = max((rank.step or 0 for rank in job.ranks.values()), default=0)
            last = min((rank.alive for rank in of_server if rank.alive is not None), default=lost.time)
            return Cause(
                lost.fact.ranks,
                f"was lost with its server {lost.fact.server}, in step {step}",
                "certain" if is_silent else "likely",
                f"{plural('other server', sum(other.fact == lost.fact for other in job.lost))} lost the connection to "
                f"{lost.fact.server}" + (f", and {_ranks(lost.fact.ranks)} gave no sign of life" if of_server else ""),
                f"is {lost.fact.server} up, and its network? look at its console and at: last -x reboot",
                last,
                lost.place,
                lost.fact.server,
            )
    return None


def stands_still(job: Job) -> Cause | None:
    """A process gave no sign of life while others did: it is stopped, or hangs in native code."""
    still = [rank for rank in job.ranks.values() if _is_still(job, rank)]
    if not still or len(still) == len(job.ranks):
        return None
    first = min(still, key=lambda rank: _order(rank.corrected(rank.alive)))
    return Cause(
        (first.number, *(rank.number for rank in still if rank is not first)),
        f"stands still since step {first.step}: its process is stopped, frozen, or hangs in native code",
        "certain" if len(still) == 1 else "likely",
        f"its last sign of life is {_lag(job, first):.0f} s older than that of the others",
        "look at its process: ps -o pid,stat,wchan:30,cmd (T: stopped; D: waits for a disk or a driver)",
        first.alive,
        first.place,
    )


def left_early(job: Job) -> Cause | None:
    """A rank ended in order, and others wait for it."""
    front = _front(job)
    for rank in job.ranks.values():
        if rank.end and rank.end.how == "done" and rank.last and rank.last.sequence < front:
            return Cause(
                (rank.number,),
                f"ended in order after step {rank.step}, where the others went on",
                "certain",
                f"it left after collective {rank.last.sequence}; others are in collective {front}",
                "all ranks must take the same number of steps: compare the sizes of their data",
                rank.end.time,
                rank.end.place,
            )
    return None


def late(job: Job) -> Cause | None:
    """Others are inside a collective that a living rank has not entered."""
    waiting = [rank for rank in job.ranks.values() if rank.inside]
    front = max((rank.inside.sequence for rank in waiting if rank.inside), default=0)
    behind = [
        rank
        for rank in job.ranks.values()
        if not rank.end and (rank.last is None or rank.last.sequence < front) and rank.inside is None
    ]
    if not waiting or not behind:
        return None
    first = min(behind, key=lambda rank: (rank.last.sequence if rank.last else 0, rank.number))
    data = first.doing == "data"
    what = f"waits for {first.doing} since" if first.doing else "is busy with its own code since"
    return Cause(
        (first.number, *(rank.number for rank in behind if rank is not first)),
        f"{what} step {first.step}, and the others wait for it",
        "certain" if len(behind) == 1 else "likely",
        f"{plural('rank', len(waiting))} of {job.size} have entered collective {front}, it has not; it is alive",
        "its data comes too slowly: look at the disk and the loader of that server"
        if data
        else "see its stacks and log",
        first.since or first.alive,
        first.place,
    )


def never_began(job: Job) -> Cause | None:
    """Ranks that left no record at all, while others wait."""
    if not job.missing or not any(rank.inside for rank in job.ranks.values()):
        return None
    return Cause(
        tuple(job.missing),
        "left no record, and the others wait",
        "likely",
        f"there is no record of {_ranks(job.missing)}",
        "were they started? collect the folder of the run from their servers",
    )


def victims(job: Job) -> Cause | None:
    """All that failed did so inside a collective: the first of them is the best guess."""
    ended = [(rank, rank.end) for rank in job.ranks.values() if rank.end and _is_failure(rank.end)]
    if not ended or job.missing:
        return None
    rank, end = min(ended, key=lambda pair: _order(pair[0].corrected(pair[1].time)))
    return Cause(
        (rank.number,),
        _ending(rank, end),
        "likely",
        "it failed first, but inside a collective, where the reason may be another rank",
        _ending_fix(end),
        end.time,
        end.place,
    )


CAUSES: Sequence[tuple[Rule[...], Callable[[Job], Cause | None]]] = (
    (rules.OTHER_OPERATOR, diverged),
    (rules.UNEQUAL_INPUTS, inconsistent),
    (rules.OWN_FAILURE, failed),
    (rules.CUT_OFF, lost_server),
    (rules.STANDS_STILL, stands_still),
    (rules.LEFT_EARLY, left_early),
    (rules.LATE_RANK, late),
    (rules.ABSENT_RANK, never_began),
    (rules.FIRST_VICTIM, victims),
)


def cause_of(job: Job) -> Cause | None:
    """The first of CAUSES that fits, with the id of its rule, or None: it cannot be told."""
    return next((found._replace(rule=rule.id) for rule, ask in CAUSES if (found := ask(job)) is not None), None)


def _is_still(job: Job, rank: Rank) -> bool:
    return rank.end is None and _lag(job, rank) > STILL


def _lag(job: Job, rank: Rank) -> float:
    alive, now = rank.corrected(rank.alive), job.now
    return 0.0 if alive is None or now is None else now - alive


def _front(job: Job) -> int:
    return max((rank.last.sequence for rank in job.ranks.values() if rank.last), default=0)


def _order(time: float | None) -> float:
    return float("inf") if time is None else time


def _named(entry: Entry) -> str:
    return entry.operator if entry.size is None else f"{entry.operator} of {entry.size} bytes"


def _ranks(numbers: Sequence[int]) -> str:
    return f"{'rank' if len(numbers) == 1 else 'ranks'} {listed(numbers)}"


def _short(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= 160 else line[:159] + "…"


def _signal(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
