"""How ranks ended, by their records, and which of them give no sign of life.

A rank that fails inside a collective is taken for a victim: its peers failed first. What happens to a rank outside a
collective is its own fault.
"""

from __future__ import annotations

import re
import signal
from collections import defaultdict
from collections.abc import Mapping

from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted
from hccl_kit.diagnosis.facts import JobEnding, ServerLost
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, ClockTime, cannot_tell, most_common, order, verdict
from hccl_kit.diagnosis.verdict.diagnosis import Certainty, Suspect
from hccl_kit.diagnosis.verdict.endings import ended, fix_of_kill, of_exception
from hccl_kit.diagnosis.verdict.names import rank_list
from hccl_kit.diagnosis.verdict.records import End, Record

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


def finished(case: Case) -> Cause | None:
    """Every rank ended in order: nothing failed."""
    records = case.job.records
    if not records or case.job.unrecorded or not all(record.is_done for record in records.values()):
        return None
    return cannot_tell(
        "diagnosis.all-finished",
        "every rank finished normally",
        fix="none is needed if the job has done its work; else name the log of its launcher too",
    )


def undecided(case: Case) -> Cause | None:
    """Records that show no fault."""
    return cannot_tell("diagnosis.no-difference", "no rank differs from the others") if case.job.records else None


def inconsistent(case: Case) -> Cause | None:
    """The ranks compared what they have, and all of them gave up."""
    for record in case.job.records.values():
        message = JOINT.search(record.end.message) if record.end else None
        if message is None or record.end is None:
            continue
        rank, other, differing, size = (int(message[group]) for group in (1, 3, 4, 5))
        odd = [rank] if differing * 2 < size else [rank, other] if differing * 2 == size else [other]
        return verdict(
            "diagnosis.inconsistent",
            "has another {part} than rank {usual}, found in step {step}",
            case.job.suspects(odd),
            [record.end.event],
            is_certain=differing == 1 and size > 2,
            fix="start all ranks with the same code, configuration and files",
            why="all ranks compared their {part}: {differing} of {size} differ from rank {other}",
            part=message[2],
            usual=rank if odd[0] == other else other,
            step=record.step or 0,
            differing=differing,
            size=size,
            other=other,
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
        numbers = [*by_themselves]
        return cannot_tell(
            "diagnosis.not-comparable",
            "{ranks} failed by themselves, on servers whose clocks cannot be compared",
            case.job.suspects(numbers),
            [end.event for end in by_themselves.values()],
            ranks=rank_list(numbers),
        )
    others = counted(len(failures) - 1, "other rank")
    why = (
        Message("diagnosis.ended-first", "it ended by itself, and {ranks} failed", ranks=others)
        if len(failures) > 1
        else Message("diagnosis.ended-alone", "it alone ended by itself")
    )
    certainty: Certainty = "certain" if case.job.is_recorded else "likely"  # others may have no record
    return _cause_by_end(case, number, certainty, why)._replace(blame=of_exception(failures[number].how))


def victims(case: Case) -> Cause | None:
    """All that failed did so inside a collective: the first of them is the best guess."""
    number = _first(case, _failures(case)) if case.job.is_recorded else None
    if number is None:
        return None
    why = Message("diagnosis.victim", "it failed first, but inside a collective, where the reason may be another rank")
    return _cause_by_end(case, number, "likely", why)


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
    why = Message(
        "diagnosis.left-alone",
        "after it, {ranks} lost the connection to a peer, and nothing else failed",
        ranks=counted(len(failures), "rank"),
    )
    return end_in_order(case, number, end, why)


def end_in_order(case: Case, number: int, end: End, why: Message) -> Cause:
    """A rank that ended in order while others continued."""
    cause = verdict(
        "diagnosis.left-early",
        "finished after step {step}, while the others continued",
        case.job.suspects([number]),
        [end.event],
        fix="all ranks must take the same number of steps: compare the sizes of their data",
        step=case.job.records[number].step,
    )
    return cause._replace(supports=(why,))


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
        why = Message(
            "diagnosis.accused", "{servers} lost the connection to {server}", servers=accusers, server=fact.server
        )
        if known:
            silent = rank_list(fact.ranks)
            why = Message("diagnosis.accused-silent", "{why}, and {ranks} gave no sign of life", why=why, ranks=silent)
        suspects = [
            suspect._replace(server=suspect.server or fact.server) for suspect in case.job.suspects(fact.ranks)
        ] or [Suspect(None, fact.server, None)]
        cause = verdict(
            "diagnosis.lost-server",
            "was lost with its server {server}, in step {step}",
            suspects,
            [min(signs, key=lambda alive: order(alive.time), default=note)._replace(place=note.place)],
            is_certain=is_silent,
            fix="check that {server} and its network are up; see its console and `last -x reboot`",
            server=fact.server,
            step=step,
        )
        return cause._replace(supports=(why,))
    return None


def stands_still(case: Case) -> Cause | None:
    """A process gave no sign of life while others did: it is stopped, or hangs in native code."""
    still = _still(case)
    if not still or len(still) == len(case.job.records):
        return None
    first = max(still, key=lambda number: still[number])
    record = case.job.records[first]
    return verdict(
        "diagnosis.stands-still",
        "unresponsive since step {step}: its process is stopped, frozen, or hangs in native code",
        case.job.suspects([first, *(number for number in still if number != first)]),
        [record.alive] if record.alive else [],
        is_certain=len(still) == 1 and case.job.is_recorded,
        fix="look at its process: ps -o pid,stat,wchan:30,cmd (T: stopped; D: waits for a disk or a driver)",
        why="its last sign of life is {seconds:.0f} s older than that of the others",
        step=record.step,
        seconds=still[first],
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


def _cause_by_end(case: Case, number: int, certainty: Certainty, why: Message) -> Cause:
    """The cause that the end of a rank is."""
    end, step = _failures(case)[number], case.job.records[number].step
    fix = Message("diagnosis.failed.fix", "see the end of its log")
    if FULL.search(end.message):
        text = _short(end.message)
        kind = Message("diagnosis.disk-full", "found the disk full, in step {step}: {text}", step=step, text=text)
        fix = Message("diagnosis.disk-full.fix", "free space on that disk, or write to another one")
    elif end.how:
        kind = Message(
            "diagnosis.failed",
            "failed with {error} in step {step}: {text}",
            error=end.how,
            step=step,
            text=_short(end.message),
        )
    else:
        kind = Message("diagnosis.ended-in", "{ended} in step {step}", ended=ended(end.signal, end.code), step=step)
        if end.signal is None:
            kind = Message("diagnosis.ended-without", "{ended}, without an exception", ended=kind)
    if end.signal == signal.SIGKILL:
        fix = fix_of_kill(Message("diagnosis.that-server", "that server"))
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
