"""How ranks ended, by their records, and which of them give no sign of life.

A rank that fails inside a collective is taken for a victim: its peers failed first. What happens to a rank outside a
collective is its own fault.
"""

from __future__ import annotations

import re
import signal
from collections import defaultdict
from collections.abc import Mapping

from hccl_kit.base.wording import counted
from hccl_kit.diagnosis.facts import JobEnding, ServerLost
from hccl_kit.diagnosis.verdict.blame import of_exception
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, ClockTime, cannot_tell, most_common, order, rank_list
from hccl_kit.diagnosis.verdict.diagnosis import Certainty, Suspect
from hccl_kit.diagnosis.verdict.endings import ended, fix_of_kill
from hccl_kit.diagnosis.verdict.record import End, Record

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
SAME_STEPS = "all ranks must take the same number of steps: compare the sizes of their data"


def finished(case: Case) -> Cause | None:
    """Every rank ended in order: nothing failed."""
    records = case.job.records
    if not records or case.job.unrecorded or not all(record.is_done for record in records.values()):
        return None
    nothing = cannot_tell("every rank finished normally")
    return nothing._replace(fix="none is needed if the job has done its work; else name the log of its launcher too")


def undecided(case: Case) -> Cause | None:
    """Records that show no fault."""
    return cannot_tell("no rank differs from the others") if case.job.records else None


def inconsistent(case: Case) -> Cause | None:
    """The ranks compared what they have, and all of them gave up."""
    for record in case.job.records.values():
        message = JOINT.search(record.end.message) if record.end else None
        if message is None or record.end is None:
            continue
        rank, other, differing, size = (int(message[group]) for group in (1, 3, 4, 5))
        odd = [rank] if differing * 2 < size else [rank, other] if differing * 2 == size else [other]
        than = rank if odd[0] == other else other
        return Cause(
            "certain" if differing == 1 and size > 2 else "likely",
            f"has another {message[2]} than rank {than}, found in step {record.step or 0}",
            case.job.suspects(odd),
            events=(record.end.event,),
            fix="start all ranks with the same code, configuration and files",
            supports=(f"all ranks compared their {message[2]}: {differing} of {size} differ from rank {other}",),
        )
    return None


def failed(case: Case) -> Cause | None:
    """The first rank that ended by itself and did not succeed; a rank inside a collective is the victim of another.

    With SIGTERM the scripts end their ranks once they have lost a server.
    """
    has_lost = any(isinstance(note.fact, ServerLost) for note in case.job.notes)
    failures = _failures(case)
    by_themselves = {
        number: end
        for number, end in failures.items()
        if not _is_victim(case.job.records[number], end) and not (has_lost and end.signal == signal.SIGTERM)
    }
    if not by_themselves:
        return None
    number = _first(case, by_themselves)
    if number is None:
        numbers, ends = [*by_themselves], [end.event for end in by_themselves.values()]
        reason = f"{rank_list(numbers)} failed by themselves, on servers whose clocks cannot be compared"
        return cannot_tell(reason, case.job.suspects(numbers), ends)
    others = len(failures) - 1
    why = f"it ended by itself, and {counted(others, 'other rank')} failed" if others else "it alone ended by itself"
    cause = _cause_by_end(
        case, number, "certain" if case.job.is_recorded else "likely", why
    )  # others may have no record
    return cause._replace(blame=of_exception(failures[number].how))


def victims(case: Case) -> Cause | None:
    """All that failed did so inside a collective: the first of them is the best guess."""
    number = _first(case, _failures(case)) if case.job.is_recorded else None
    if number is None:
        return None
    return _cause_by_end(
        case, number, "likely", "it failed first, but inside a collective, where the reason may be another rank"
    )


def left_alone(case: Case) -> Cause | None:
    """All failures are lost connections, and one rank had ended in order before: it left no recording to compare."""
    failures = _failures(case)
    done = {number: record.end for number, record in case.job.records.items() if record.end and record.is_done}
    if len(done) != 1 or not failures or not case.job.is_recorded:
        return None
    ((number, end),) = done.items()
    if not all(OF_PEER.search(other.message) for other in failures.values()):
        return None
    if _first(case, {**done, **failures}) != number:
        return None
    return Cause(
        "likely",
        f"finished after step {case.job.records[number].step}, while the others continued",
        case.job.suspects([number]),
        events=(end.event,),
        fix=SAME_STEPS,
        supports=(
            f"after it, {counted(len(failures), 'rank')} lost the connection to a peer, and nothing else failed",
        ),
    )


def lost_server(case: Case) -> Cause | None:
    """All ranks of a server fell silent together, or another server lost the connection to it."""
    lost = [(note, note.fact) for note in case.job.notes if isinstance(note.fact, ServerLost)]
    records, still = case.job.records, _still(case)
    gone = {*still, *(n for n, record in records.items() if record.end and record.end.signal == signal.SIGTERM)}
    accused = most_common(fact for _, fact in lost)
    for note, fact in lost:
        known = [number for number in fact.ranks if number in records]
        is_silent = gone.issuperset(known) and (not known or bool(still))
        if not is_silent and (accused != [fact] or still):
            continue
        step = max((record.step or 0 for record in records.values()), default=0)
        signs = [alive for number in known if (alive := records[number].alive)]
        accusers = counted(sum(other == fact for _, other in lost), "other server")
        suspects = [
            suspect._replace(server=suspect.server or fact.server) for suspect in case.job.suspects(fact.ranks)
        ] or [Suspect(None, fact.server, None)]
        return Cause(
            "certain" if is_silent else "likely",
            f"was lost with its server {fact.server}, in step {step}",
            tuple(suspects),
            events=(min(signs, key=lambda alive: order(alive.time), default=note)._replace(place=note.place),),
            fix=f"check that {fact.server} and its network are up; see its console and `last -x reboot`",
            supports=(
                f"{accusers} lost the connection to {fact.server}"
                + (f", and {rank_list(fact.ranks)} gave no sign of life" if known else ""),
            ),
        )
    return None


def stands_still(case: Case) -> Cause | None:
    """A process gave no sign of life while others did: it is stopped, or hangs in native code."""
    still = _still(case)
    if not still or len(still) == len(case.job.records):
        return None
    first = max(still, key=lambda number: still[number])
    record = case.job.records[first]
    return Cause(
        "certain" if len(still) == 1 and case.job.is_recorded else "likely",
        f"unresponsive since step {record.step}: its process is stopped, frozen, or hangs in native code",
        case.job.suspects([first, *(number for number in still if number != first)]),
        events=(record.alive,) if record.alive else (),
        fix="look at its process: ps -o pid,stat,wchan:30,cmd (T: stopped; D: waits for a disk or a driver)",
        supports=(f"its last sign of life is {still[first]:.0f} s older than that of the others",),
    )


def _failures(case: Case) -> Mapping[int, End]:
    return {n: record.end for n, record in case.job.records.items() if record.end and record.end.is_failure}


def _is_victim(record: Record, end: End) -> bool:
    if OF_PEER.search(end.message):
        return True
    if FULL.search(end.message) or end.signal not in (None, signal.SIGABRT):
        return False
    return record.inside is not None or record.is_cut


def _first(case: Case, ends: Mapping[int, End]) -> int | None:
    """The rank that ended first; None if there is none, or if their clocks cannot be compared."""
    moments = {number: case.clock_time(number, end.event) for number, end in ends.items()}
    if len({moment.clock for moment in moments.values()}) > 1:
        return None
    return min(moments, key=lambda number: order(moments[number].time), default=None)


def _cause_by_end(case: Case, number: int, certainty: Certainty, why: str) -> Cause:
    """The cause that the end of a rank is."""
    end, step = _failures(case)[number], case.job.records[number].step
    is_full = FULL.search(end.message)
    fix = "see the end of its log"
    if is_full:
        kind = f"found the disk full, in step {step}: {_short(end.message)}"
        fix = "free space on that disk, or write to another one"
    elif end.how:
        kind = f"failed with {end.how} in step {step}: {_short(end.message)}"
    else:
        kind = f"{ended(end.signal, end.code)} in step {step}" + (
            ", without an exception" if end.signal is None else ""
        )
    if end.signal == signal.SIGKILL:
        fix = fix_of_kill("that server")
    return Cause(certainty, kind, case.job.suspects([number]), events=(end.event,), fix=fix, supports=(why,))


def _still(case: Case) -> Mapping[int, float]:
    """The ranks without a sign of life, each with the seconds since its last one until the last record on its clock."""
    signs: dict[int, ClockTime] = {}
    latest: dict[str, float] = defaultdict(float)
    moments = []
    for number, record in case.job.records.items():
        if record.alive:
            signs[number] = case.clock_time(number, record.alive)
            moments.append(signs[number])
        if record.end:
            moments.append(case.clock_time(number, record.end.event))
    if len({clock for clock, _ in moments}) == 1:  # the launcher has it too
        moments += [
            ClockTime(moments[0].clock, note.time) for note in case.job.notes if isinstance(note.fact, JobEnding)
        ]
    for clock, time in moments:
        latest[clock] = max(latest[clock], time or 0.0)
    return {
        number: lag
        for number, (clock, time) in signs.items()
        if time is not None and (lag := latest[clock] - time) > STILL
        if not case.job.records[number].end and not case.job.records[number].is_cut
    }


def _short(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= 160 else line[:159] + "…"
