"""Ranks that others wait for in a collective: they ended in order, are late, left no record, or wait as well."""

from __future__ import annotations

from collections.abc import Mapping

from hccl_kit.base.wording import counted
from hccl_kit.diagnosis.facts import Alive, Event
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, cannot_tell, order, rank_list
from hccl_kit.diagnosis.verdict.causes.recorded import SAME_STEPS
from hccl_kit.diagnosis.verdict.job import Job
from hccl_kit.diagnosis.verdict.record import OWN, Entry, Record


def left_early(case: Case) -> Cause | None:
    """A rank ended in order, and others wait for it."""
    records, awaited = case.job.records, _awaited(case.job)
    front = max((max(record.entries) for record in records.values() if record.entries), default=0)
    for number, record in records.items():
        if record.end is None or not record.is_done:
            continue
        entry = awaited.get(number)
        is_behind = bool(record.entries) and max(record.entries) < front and not record.is_cut
        if entry or is_behind:
            last = f"after collective {max(record.entries)}" if record.entries else "before that"
            return Cause(
                "certain",
                f"finished after step {record.step}, while the others continued",
                case.job.suspects([number]),
                events=(record.end.event,),
                fix=SAME_STEPS,
                supports=(f"it left {last}; others are in collective {entry.sequence if entry else front}",),
            )
    return None


def late(case: Case) -> Cause | None:
    """Others are inside a collective that a living rank has not entered, and it does not wait itself."""
    records, awaited = case.job.records, _awaited(case.job)
    waiting = [record for record in records.values() if record.inside]
    behind = [n for n, record in records.items() if n in awaited and not record.end and record.inside is None]
    if not waiting or not behind:
        return None
    first = min(behind, key=lambda number: (awaited[number].sequence, number))
    collective, alive, step = _numbered(awaited[first]), records[first].alive, records[first].step
    doing = alive.fact.doing if alive and isinstance(alive.fact, Alive) else None
    busy = "is in no collective" if alive is None else "is busy with its own code"
    reason = (f"waits for {doing}" if doing else busy) + ("" if step is None else f" since step {step}")
    size = counted(len(records) + len(case.job.unrecorded), "rank")
    has_entered = f"{len(waiting)} of {size} have entered {collective}, it has not"
    fix = "its data arrives too slowly: check the disk and the data loader of that server"
    return Cause(
        "certain" if len(behind) == 1 and not any(record.is_cut for record in records.values()) else "likely",
        f"never entered {collective}, where the others wait: it {reason}",
        case.job.suspects([first, *(number for number in behind if number != first)]),
        events=_since(records[first]),
        fix=fix if doing == "data" else "see its stacks and log",
        supports=(has_entered + ("; it is alive" if alive else ""),),
    )


def _since(record: Record) -> tuple[Event, ...]:
    """Where a record shows that the rank does something else, and since when: torch's does not know that."""
    alive = record.alive
    if alive and isinstance(alive.fact, Alive):
        return (alive._replace(time=alive.fact.since or alive.time),)
    return (record.last.event._replace(time=None),) if record.last else ()


def crossed(case: Case) -> Cause | None:
    """Ranks wait for each other in collectives of different groups: they enter them in different orders."""
    awaited = _awaited(case.job)
    inside = {number: record.inside for number, record in case.job.records.items() if record.inside is not None}
    both = sorted(awaited.keys() & inside.keys())
    if len(both) < 2 or not awaited.keys() <= inside.keys():
        return None
    first, other = both[0], next((number for number in both if inside[number] is awaited[both[0]]), both[1])
    return Cause(
        "likely",
        f"is in {named_entry(inside[first])} {inside[first].sequence} while rank {other} is in "
        f"{named_entry(inside[other])} {inside[other].sequence} of another group: they wait for each other",
        case.job.suspects(both),
        events=(inside[first].event,),
        fix="all ranks must enter the collectives of different groups in the same order",
        supports=(f"{rank_list(both)} each wait in a collective that another of them has not entered",),
    )


def never_began(case: Case) -> Cause | None:
    """Ranks that left no record at all, while others wait."""
    missing, records = case.job.unrecorded, case.job.records
    waiting = [record.inside for record in records.values() if record.inside]
    if not missing or not waiting:
        return None
    why = f"there is no record of {rank_list(missing)}"
    if len(missing) > len(records):  # most records were not collected, or are written elsewhere
        return cannot_tell(f"{why}, only of {rank_list(list(records))}", case.job.suspects(missing))
    return Cause(
        "likely",
        f"left no record, and the others wait in {_numbered(max(waiting, key=lambda entry: entry.sequence))}",
        case.job.suspects(missing),
        fix="check whether they were started; collect the folder of the run from their servers",
        supports=(why,),
    )


def named_entry(entry: Entry) -> str:
    """A collective with what its ranks give: all_reduce of 4096 bytes, all_reduce of Float [1024]."""
    if entry.shape:
        return f"{entry.operator} of {entry.shape}"
    return entry.operator if entry.size is None else f"{entry.operator} of {entry.size} bytes"


def _numbered(entry: Entry) -> str:
    return f"{entry.operator} {entry.sequence}"


def _awaited(job: Job) -> Mapping[int, Entry]:
    """The ranks that others wait for, with the first collective of others that they have not entered."""
    awaited: dict[int, Entry] = {}
    for stream in job.streams:
        blocked = sorted(
            (entry for record in job.records.values() if (entry := record.blocked.get(stream))),
            key=lambda entry: entry.sequence,
        )
        if not blocked:
            continue
        for number in job.members_of(stream):
            record = job.records.get(number)
            if record is None or record.is_cut or (stream != OWN and not record.has_dump and not record.is_done):
                continue  # it may have entered it
            entered = max(record.streams.get(stream, {}), default=0)
            entry = next((entry for entry in blocked if entry.sequence > entered), None)
            if entry and (number not in awaited or order(entry.event.time) < order(awaited[number].event.time)):
                awaited[number] = entry
    return awaited
