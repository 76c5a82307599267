"""Ranks that enter different collectives under one number: by our records, or by torch's for each process group.

The sizes in which gloo sends a tensor around its ring are those of gloo/allreduce.cc, `ring`, with the segment limit of
gloo/allreduce.h.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import PurePath

from hccl_kit.base.message import Message
from hccl_kit.diagnosis.facts import Fault, Oversized
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, cannot_tell, most_common
from hccl_kit.diagnosis.verdict.causes.collectives import named_entry
from hccl_kit.diagnosis.verdict.diagnosis import Certainty
from hccl_kit.diagnosis.verdict.job import Job
from hccl_kit.diagnosis.verdict.names import rank_list
from hccl_kit.diagnosis.verdict.records import OWN, Entry

FRONT = 3
"""How many of the last collectives that all ranks reached are compared: an earlier divergence did not stop the job."""

CONTEXTS = (2, 1, 0)
"""Numbers of preceding collectives that are matched against earlier ones in the recording, tried in this order."""

_FIX = Message(
    "diagnosis.same-path.fix",
    "all ranks must take the same path: look for a condition on the rank, its data or its clock",
)

_RANK_LOG = re.compile(r"rank_([0-9]{1,7})\.log")


def diverged(case: Case) -> Cause | None:
    """The n-th collective is not the same for all ranks, and the job got no further."""
    job = case.job
    for stream in job.streams:
        whole = [record for record in job.records.values() if not record.is_cut]
        reached = [max(entries) for record in whole if (entries := record.streams.get(stream))]
        if len(reached) < 2:
            continue
        for number in range(min(reached), max(0, min(reached) - FRONT), -1):
            for differs in (_what, _step):
                if _differ(job, stream, number, differs):
                    return _divergence(job, stream, _start(job, stream, number, differs), differs)
    return None


def _start(job: Job, stream: str, number: int, differs: Callable[[Entry], Hashable]) -> int:
    """The first of the collectives up to `number` that all differ."""
    while _differ(job, stream, number - 1, differs):
        number -= 1
    return number


def _entries(job: Job, stream: str, number: int) -> dict[int, Entry]:
    """The collective of each rank; without shapes of operators of which that of a rank is not known."""
    every = {rank: record.streams.get(stream, {}).get(number) for rank, record in job.records.items()}
    entries = {rank: entry for rank, entry in every.items() if entry is not None}
    vague = {entry.operator for entry in entries.values() if entry.shape is None}
    return {
        rank: entry._replace(shape=None) if entry.shape and entry.operator in vague else entry
        for rank, entry in entries.items()
    }


def _differ(job: Job, stream: str, number: int, differs: Callable[[Entry], Hashable]) -> bool:
    return len({differs(entry) for entry in _entries(job, stream, number).values()}) > 1


def _what(entry: Entry) -> Hashable:
    return entry.what


def _step(entry: Entry) -> Hashable:
    return entry.step


def _divergence(job: Job, stream: str, number: int, differs: Callable[[Entry], Hashable]) -> Cause:
    entries = _entries(job, stream, number)
    usual, is_clear = _usual(job, stream, number, differs)
    odd = [rank for rank, entry in entries.items() if differs(entry) not in usual] if is_clear else list(entries)
    first = entries[odd[0]]
    other = next(entry for entry in entries.values() if differs(entry) != differs(first))
    step, other_step = _step_of(job, entries, first), _step_of(job, entries, other)
    if first.what != other.what:
        kind = _with_step(
            Message(
                "diagnosis.diverged",
                "entered {collective} where the others entered {usual}",
                collective=named_entry(first),
                usual=named_entry(other),
            ),
            step,
        )
        if is_clear and len(odd) > 1:
            more = rank_list(odd[1:])
            kind = Message("diagnosis.diverged-too", "{kind}, and so did {ranks}", kind=kind, ranks=more)
    else:
        kind = Message(
            "diagnosis.skipped",
            "was in step {step} where the others were in step {usual}: it skipped a collective",
            step=step,
            usual=other_step,
        )
    why = Message(
        "diagnosis.diverged.why",
        "{number} is {collective} for {ranks}, and {usual} for the others",
        number=_numbered(stream, number),
        collective=_of_step(first, step),
        ranks=rank_list(odd),
        usual=_of_step(other, other_step),
    )
    certainty: Certainty = "certain" if is_clear and len(odd) == 1 else "likely"
    return Cause(certainty, kind, job.suspects(odd), events=(first.event,), fix=_FIX, supports=(why,))


def _numbered(stream: str, number: int) -> Message:
    if stream:
        return Message("diagnosis.number-of-group", "collective {number} of group {group}", number=number, group=stream)
    return Message("diagnosis.number", "collective {number}", number=number)


def mismatched(case: Case) -> Cause | None:
    """Gloo ended a rank that received another size; it has left no dump, and the dumps of the others agree."""
    job = case.job
    streams = [stream for stream in job.streams if stream != OWN]
    known = {
        rank: record
        for rank, record in job.records.items()
        if record.has_dump and any(record.streams.get(stream) for stream in streams)
    }
    report = next((note for note in job.notes if isinstance(note.fact, Fault)), None)
    if report is None or not known:
        return None
    last = [
        (stream, max(record.streams[stream]))
        for record in known.values()
        for stream in streams
        if record.streams.get(stream)
    ]
    stream, number = max(last, key=lambda place: max(entry.begun for entry in _entries(job, *place).values()))
    entry = next(iter(_entries(job, stream, number).values()))
    name = named_entry(entry)
    if _was_due([record.streams.get(stream, {}) for record in known.values()], number):
        kind = Message(
            "diagnosis.another-collective",
            "entered another collective than {collective}, which the others entered as number {number}",
            collective=name,
            number=number,
        )
        members = job.members_of(stream)
        odd = [rank for rank in sorted(members) if rank not in job.records or not job.records[rank].has_dump]
        odd = _ranks_of_another_size(job, entry, odd, len(members))
    else:
        kind = Message(
            "diagnosis.unexpected-collective",
            "entered {collective} as number {number}, which was not expected next",
            collective=name,
            number=number,
        )
        odd = [*known]
    why = Message(
        "diagnosis.another-size",
        "a rank received another size than it expected in {collective} {number}",
        collective=name,
        number=number,
    )
    suspects = job.suspects(odd)
    if len(odd) != 1:
        reason = Message("diagnosis.senders", "{why}, and {ranks} may have sent it", why=why, ranks=rank_list(odd))
        return cannot_tell(reason, None, suspects, [report])
    kind = _with_step(kind, job.records[odd[0]].step if odd[0] in job.records else None)
    report = report._replace(time=entry.event.time)
    return Cause("likely", kind, suspects, events=(report,), fix=_FIX, supports=(why,))


def _was_due(all_entries: Sequence[Mapping[int, Entry]], number: int) -> bool:
    """Whether the collective with this number followed the same ones before, if they were there before."""
    due = {sign for entries in all_entries for sign in _followers(entries, number, CONTEXTS[0])}
    return not due or any(_sign(entries, number) in due for entries in all_entries)


def _ranks_of_another_size(job: Job, entry: Entry, suspects: list[int], ranks: int) -> list[int]:
    """The suspects that expected a size which no piece of `entry` has; all suspects if that does not tell."""
    pieces = ring_pieces(entry.operator, entry.shape, ranks)
    expected = {
        int(log[1]): note.fact.expected
        for note in job.notes
        if isinstance(note.fact, Oversized) and (log := _RANK_LOG.fullmatch(PurePath(note.place.file).name))
    }
    others = [rank for rank in suspects if rank in expected and expected[rank] not in pieces]
    return others if pieces and others and expected.keys() >= set(suspects) else suspects


def _with_step(kind: Message, step: int | None) -> Message:
    """The sentence with its step at the end; torch's dumps alone do not have it."""
    return kind if step is None else Message("diagnosis.in-step", "{kind}, in step {step}", kind=kind, step=step)


def _step_of(job: Job, entries: Mapping[int, Entry], entry: Entry) -> int | None:
    """The step of an entry; torch's recorder does not know it, but the rank counts its steps."""
    if entry.step is not None:
        return entry.step
    return next(job.records[rank].step for rank, other in entries.items() if other is entry)


def _of_step(entry: Entry, step: int | None) -> str:
    name = named_entry(entry)
    return name if step is None else Message("diagnosis.of-step", "{name} of step {step}", name=name, step=step)


def _usual(job: Job, stream: str, number: int, differs: Callable[[Entry], Hashable]) -> tuple[list[Hashable], bool]:
    """What was to be expected as collective `number`: what most ranks did, or else what followed the same before.

    The two collectives before it may be together for the first time, as after an evaluation. Then one before it counts,
    or what was done at any time.
    """
    entries = _entries(job, stream, number)
    most = most_common(differs(entry) for entry in entries.values())
    if len(most) == 1:
        return most, True
    streams = {rank: record.streams.get(stream, {}) for rank, record in job.records.items()}
    by_context = (
        {sign for past in streams.values() for sign in _followers(past, number, context)} for context in CONTEXTS
    )
    expected = next(filter(None, by_context), set())
    fitting = [rank for rank in entries if _sign(streams[rank], number) in expected]
    usual = {differs(entries[rank]) for rank in fitting}
    return list(usual), 0 < len(usual) < len(most)


Sign = tuple[Hashable, int]


def _sign(entries: Mapping[int, Entry], number: int) -> Sign | None:
    """A collective apart from its number: what it is, and the steps since the one before."""
    entry, before = entries.get(number), entries.get(number - 1)
    if entry is None or before is None:
        return None
    return entry.what, (entry.step or 0) - (before.step or 0)


def _followers(entries: Mapping[int, Entry], number: int, past: int) -> Iterable[Sign]:
    """What came after collectives like the `past` ones before `number`, earlier on."""
    context = _before(entries, number, past)
    if None in context:
        return
    for earlier in entries:
        if earlier < number and _before(entries, earlier, past) == context:
            follower = _sign(entries, earlier)
            if follower is not None:
                yield follower


def _before(entries: Mapping[int, Entry], number: int, past: int) -> list[Sign | None]:
    return [_sign(entries, number - back) for back in range(past, 0, -1)]


BYTES = {"Byte": 1, "Char": 1, "Half": 2, "BFloat16": 2, "Int": 4, "Float": 4, "Long": 8, "Double": 8}
"""Bytes of an element, by the type names of torch's recorder."""
MAX_SEGMENT = 1 << 20
_SHAPE = re.compile(r"(?P<type>[A-Za-z0-9]{1,16}) \[(?P<sizes>[0-9]{1,12}(?:, ?[0-9]{1,12}){0,15})\]")


def ring_pieces(operator: str, shape: str | None, ranks: int) -> frozenset[int]:
    """The bytes of a message when `ranks` ranks all-reduce one tensor; empty for anything else.

    At least two segments for each rank, of whole elements; the last ones may be shorter, or empty.
    """
    match = _SHAPE.fullmatch(shape or "")
    if operator != "all_reduce" or match is None or match["type"] not in BYTES or ranks < 2:
        return frozenset()
    element = BYTES[match["type"]]
    total = element * math.prod(map(int, match["sizes"].split(",")))
    if not total:
        return frozenset()
    segment = min(-(-total // (2 * ranks)), MAX_SEGMENT // element * element)
    segment = -(-segment // element) * element
    count = max(-(-total // segment), 2 * ranks)
    count = -(-count // ranks) * ranks
    rest = total % segment or segment
    return frozenset({segment, rest, 0} if count * segment >= total + segment else {segment, rest})
