"""What may have ended a job, or keeps it waiting: one function each, asked in the order of CAUSES.

A rank that fails inside a collective is taken for a victim: its peers failed first. What happens to a rank outside a
collective is its own fault.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Sequence

from hccl_kit.base.wording import counted
from hccl_kit.check.rule import Rule
from hccl_kit.diagnosis import first_faults as rules
from hccl_kit.diagnosis.verdict.blame import of_exception
from hccl_kit.diagnosis.verdict.endings import ended, fix_of_kill
from hccl_kit.diagnosis.verdict.recorded.cause import Cause, order, rank_list
from hccl_kit.diagnosis.verdict.recorded.divergence import diverged, mismatched
from hccl_kit.diagnosis.verdict.recorded.job import End, Job, Rank, most_common
from hccl_kit.diagnosis.verdict.recorded.waiting import crossed, late, left_early, never_began

STILL = 4.0
"""Seconds without a sign of life, which comes every second, after which a process stands still."""
FULL = re.compile(r"No space left on device|Errno 28\b|Disk quota exceeded|Errno 122\b")
OF_PEER = re.compile(r"gloo.{0,300}(?:Connection (?:closed|reset) by peer|Broken pipe|Connection refused)", re.DOTALL)
"""What an exception says if the rank has only lost another one."""
JOINT = re.compile(
    r"rank ([0-9]{1,7})(?: on \S+)? has another (.{1,200}?) than rank ([0-9]{1,7})\b.*?"
    r"\(([0-9]{1,7}) of ([0-9]{1,7}) ranks differ\)",
    re.DOTALL,
)


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
    rank, end = min(own, key=lambda pair: order(pair[0].corrected(pair[1].time)))
    others = len(ended) - 1
    return Cause(
        (rank.number,),
        _ending(rank, end),
        "certain" if job.is_whole else "likely",  # one without a record may have failed before
        f"it ended by itself, and {counted(others, 'other rank')} failed" if others else "it alone ended by itself",
        _ending_fix(end),
        end.time,
        end.place,
        blame=of_exception(end.how),
    )


def _is_failure(end: End) -> bool:
    return end.how != "done" and (bool(end.how) or end.code != 0)


def _is_victim(rank: Rank, end: End) -> bool:
    if OF_PEER.search(end.message):
        return True
    if FULL.search(end.message) or end.signal not in (None, signal.SIGABRT):
        return False
    return rank.inside is not None or rank.is_cut


def _ending(rank: Rank, end: End) -> str:
    if FULL.search(end.message):
        return f"found the disk full, in step {rank.step}: {_short(end.message)}"
    if end.how:
        return f"failed with {end.how} in step {rank.step}: {_short(end.message)}"
    if end.signal is not None:
        return f"{ended(end.signal, None)} in step {rank.step}"
    return f"{ended(None, end.code)} in step {rank.step}, without an exception"


def _ending_fix(end: End) -> str:
    if FULL.search(end.message):
        return "free space on that disk, or write to another one"
    if end.signal == signal.SIGKILL:
        return fix_of_kill("that server")
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
                f"{counted(sum(other.fact == lost.fact for other in job.lost), 'other server')} lost the connection to "
                f"{lost.fact.server}"
                + (f", and {rank_list(lost.fact.ranks)} gave no sign of life" if of_server else ""),
                f"check that {lost.fact.server} and its network are up; see its console and `last -x reboot`",
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
    first = min(still, key=lambda rank: order(rank.corrected(rank.alive)))
    return Cause(
        (first.number, *(rank.number for rank in still if rank is not first)),
        f"unresponsive since step {first.step}: its process is stopped, frozen, or hangs in native code",
        "certain" if len(still) == 1 and job.is_whole else "likely",
        f"its last sign of life is {_lag(job, first):.0f} s older than that of the others",
        "look at its process: ps -o pid,stat,wchan:30,cmd (T: stopped; D: waits for a disk or a driver)",
        first.alive,
        first.place,
    )


def victims(job: Job) -> Cause | None:
    """All that failed did so inside a collective: the first of them is the best guess."""
    ended = [(rank, rank.end) for rank in job.ranks.values() if rank.end and _is_failure(rank.end)]
    if not ended or not job.is_whole:
        return None
    rank, end = min(ended, key=lambda pair: order(pair[0].corrected(pair[1].time)))
    return Cause(
        (rank.number,),
        _ending(rank, end),
        "likely",
        "it failed first, but inside a collective, where the reason may be another rank",
        _ending_fix(end),
        end.time,
        end.place,
    )


def left_alone(job: Job) -> Cause | None:
    """All failures are lost connections, and one rank had ended in order before: it left no recording to compare."""
    failures = [(rank, rank.end) for rank in job.ranks.values() if rank.end and _is_failure(rank.end)]
    done = [(rank, rank.end) for rank in job.ranks.values() if rank.end and rank.end.how == "done"]
    if (
        len(done) != 1
        or not failures
        or not job.is_whole
        or not all(OF_PEER.search(end.message) for _, end in failures)
    ):
        return None
    ((rank, end),) = done
    if order(rank.corrected(end.time)) > min(order(one.corrected(its.time)) for one, its in failures):
        return None
    return Cause(
        (rank.number,),
        f"finished after step {rank.step}, while the others continued",
        "likely",
        f"after it, {counted(len(failures), 'rank')} lost the connection to a peer, and nothing else failed",
        "all ranks must take the same number of steps: compare the sizes of their data",
        end.time,
        end.place,
    )


CAUSES: Sequence[tuple[Rule[...], Callable[[Job], Cause | None]]] = (
    (rules.OTHER_OPERATOR, diverged),
    (rules.OTHER_OPERATOR, mismatched),
    (rules.UNEQUAL_INPUTS, inconsistent),
    (rules.OWN_FAILURE, failed),
    (rules.CUT_OFF, lost_server),
    (rules.STANDS_STILL, stands_still),
    (rules.LEFT_EARLY, left_early),
    (rules.LATE_RANK, late),
    (rules.ABSENT_RANK, never_began),
    (rules.OTHER_OPERATOR, crossed),
    (rules.LEFT_EARLY, left_alone),
    (rules.FIRST_VICTIM, victims),
)


def cause_of(job: Job) -> Cause | None:
    """The first of CAUSES that fits, with the id of its rule; None if none does."""
    return next((found._replace(rule=rule.id) for rule, ask in CAUSES if (found := ask(job)) is not None), None)


def _is_still(job: Job, rank: Rank) -> bool:
    return rank.end is None and not rank.is_cut and _lag(job, rank) > STILL


def _lag(job: Job, rank: Rank) -> float:
    alive, now = rank.corrected(rank.alive), job.now
    return 0.0 if alive is None or now is None else now - alive


def _short(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= 160 else line[:159] + "…"
