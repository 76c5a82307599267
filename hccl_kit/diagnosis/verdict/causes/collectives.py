"""Ranks that others wait for in a collective: they ended in order, are late or stopped, left no record, or wait too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted, sentences
from hccl_kit.diagnosis.facts import Alive, Event, JobEnding, ProcessStopped
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, cannot_tell, order, verdict
from hccl_kit.diagnosis.verdict.causes.recorded import end_in_order
from hccl_kit.diagnosis.verdict.job import Job
from hccl_kit.diagnosis.verdict.names import rank_list
from hccl_kit.diagnosis.verdict.records import OWN, Entry, Record


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
            why = Message(
                "diagnosis.left-early.why",
                "it left {after}; others are in collective {number}",
                after=_after(record.entries),
                number=entry.sequence if entry else front,
            )
            return end_in_order(case, number, record.end, why)._replace(certainty="certain")
    return None


def _after(entries: Iterable[int]) -> Message:
    last = max(entries, default=None)
    if last is None:
        return Message("diagnosis.before-that", "before that")
    return Message("diagnosis.after-collective", "after collective {number}", number=last)


def late(case: Case) -> Cause | None:
    """Others are inside a collective that a living rank has not entered, and it does not wait itself."""
    records, awaited = case.job.records, _awaited(case.job)
    waiting = [record for record in records.values() if record.inside]
    behind = [n for n, record in records.items() if n in awaited and not record.end and record.inside is None]
    if not waiting or not behind:
        return None
    first = min(behind, key=lambda number: (awaited[number].sequence, number))
    record, collective = records[first], _numbered(awaited[first])
    entered = Message(
        "diagnosis.late.why",
        "{number} of {ranks} have entered {collective}, it has not",
        number=len(waiting),
        ranks=counted(len(records) + len(case.job.unrecorded), "rank"),
        collective=collective,
    )
    cause = verdict(
        "diagnosis.late",
        "never entered {collective}, where the others wait: it {reason}",
        case.job.suspects([first, *(number for number in behind if number != first)]),
        _since(record),
        is_certain=len(behind) == 1 and not any(record.is_cut for record in records.values()),
        hint=_SLOW_DATA if _doing(record) == "data" else Message("diagnosis.late.fix", "see its stacks and log"),
        collective=collective,
        reason=_state(record),
    )
    is_alive = Message("diagnosis.alive", "it is alive") if record.alive else ""
    return cause._replace(supports=(sentences([entered, is_alive]),))


_SLOW_DATA = Message(
    "diagnosis.slow-data.fix", "its data arrives too slowly: check the disk and the data loader of that server"
)


def _doing(record: Record) -> str | None:
    """What the program itself says that it waits for."""
    return record.alive.fact.doing if record.alive and isinstance(record.alive.fact, Alive) else None


def _state(record: Record) -> Message:
    """What a rank does that is late."""
    if doing := _doing(record):
        state = Message("diagnosis.waits-for", "waits for {what}", what=doing)
    elif record.alive is None:
        state = Message("diagnosis.in-no-collective", "is in no collective")
    else:
        state = Message("diagnosis.busy", "is busy with its own code")
    if record.step is None:
        return state
    return Message("diagnosis.since-step", "{state} since step {step}", state=state, step=record.step)


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
    return verdict(
        "diagnosis.crossed",
        "is in {own} {number} while rank {other} is in {others} {place} of another group: they wait for each other",
        case.job.suspects(both),
        [inside[first].event],
        fix="all ranks must enter the collectives of different groups in the same order",
        why="{ranks} each wait in a collective that another of them has not entered",
        own=named_entry(inside[first]),
        number=inside[first].sequence,
        other=other,
        others=named_entry(inside[other]),
        place=inside[other].sequence,
        ranks=rank_list(both),
    )


def never_began(case: Case) -> Cause | None:
    """Ranks that left no record at all, while others wait."""
    missing, records = case.job.unrecorded, case.job.records
    waiting = [record.inside for record in records.values() if record.inside]
    if not missing or not waiting:
        return None
    names = rank_list(missing)
    if len(missing) > len(records):  # most records were not collected, or are written elsewhere
        return cannot_tell(
            "diagnosis.few-records",
            "there is no record of {ranks}, only of {others}",
            case.job.suspects(missing),
            ranks=names,
            others=rank_list(list(records)),
        )
    return verdict(
        "diagnosis.no-record",
        "left no record, and the others wait in {collective}",
        case.job.suspects(missing),
        fix="check whether they were started; collect the folder of the run from their servers",
        why="there is no record of {ranks}",
        collective=_numbered(max(waiting, key=lambda entry: entry.sequence)),
        ranks=names,
    )


def named_entry(entry: Entry) -> str:
    """A collective with what its ranks give: all_reduce of 4096 bytes, all_reduce of Float [1024]."""
    if entry.shape:
        return Message("diagnosis.of-shape", "{operator} of {shape}", operator=entry.operator, shape=entry.shape)
    if entry.size is None:
        return entry.operator
    return Message("diagnosis.of-size", "{operator} of {size} bytes", operator=entry.operator, size=entry.size)


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


def stopped(case: Case) -> Cause | None:
    """The ranks that were stopped. What they and the others do once the launcher continues and ends them is no sign."""
    if not any(isinstance(note.fact, JobEnding) and note.fact.why == "hang" for note in case.job.notes):
        return None
    notes = {note.fact.rank: note for note in case.job.notes if isinstance(note.fact, ProcessStopped)}
    ranks = sorted(notes.keys() & case.job.records.keys())
    if not ranks:
        return None
    step = case.job.records[ranks[0]].step
    return Cause(
        "certain" if len(ranks) == 1 else "likely",
        Message(
            "diagnosis.stopped",
            "unresponsive since step {step}: its process is stopped, as by SIGSTOP or a debugger",
            step=step,
        ),
        case.job.suspects(ranks),
        events=(notes[ranks[0]],),
        fix=Message(
            "diagnosis.stopped.fix",
            "see who stopped it: a debugger, kill -STOP, or the queue, which may suspend jobs",
        ),
        supports=(Message("diagnosis.stopped-seen", "its launcher found it stopped when the job made no steps"),),
    )
