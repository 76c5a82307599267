"""Ranks that enter different collectives under one number: by our records, or by torch's for each process group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from hccl_kit.diagnosis.verdict.recorded import gloo_ring
from hccl_kit.diagnosis.verdict.recorded.cause import Cause, in_step, named, rank_list
from hccl_kit.diagnosis.verdict.recorded.job import OWN, Entry, Job, Rank, begun, most_common

FRONT = 3
"""How many of the last collectives that all ranks reached are compared: an earlier divergence did not stop the job."""

CONTEXTS = (2, 1, 0)
"""Numbers of preceding collectives that are matched against earlier ones in the recording, tried in this order."""

_FIX = "all ranks must take the same path: look for a condition on the rank, its data or its clock"


def diverged(job: Job) -> Cause | None:
    """The n-th collective is not the same for all ranks, and the job got no further."""
    for stream in job.streams:
        whole = [rank for rank in job.ranks.values() if not rank.is_cut]
        reached = [max(entries) for rank in whole if (entries := rank.streams.get(stream))]
        if len(reached) < 2:
            continue
        for number in range(min(reached), max(0, min(reached) - FRONT), -1):
            for differs in (_what, _step):
                if _differ(job, stream, number, differs):
                    while _differ(job, stream, number - 1, differs):
                        number -= 1  # noqa: PLW2901  # where it began
                    return _divergence(job, stream, number, differs)
    return None


def _entries(job: Job, stream: str, number: int) -> dict[int, Entry]:
    """The collective of each rank; without shapes of operators of which that of a rank is not known."""
    every = {rank.number: rank.streams.get(stream, {}).get(number) for rank in job.ranks.values()}
    found = {rank: entry for rank, entry in every.items() if entry is not None}
    vague = {entry.operator for entry in found.values() if entry.shape is None}
    return {
        rank: entry._replace(shape=None) if entry.shape and entry.operator in vague else entry
        for rank, entry in found.items()
    }


def _differ(job: Job, stream: str, number: int, differs: Callable[[Entry], object]) -> bool:
    return len({differs(entry) for entry in _entries(job, stream, number).values()}) > 1


def _what(entry: Entry) -> object:
    return entry.what


def _step(entry: Entry) -> object:
    return entry.step


def _divergence(job: Job, stream: str, number: int, differs: Callable[[Entry], object]) -> Cause:
    entries = _entries(job, stream, number)
    usual, is_clear = _usual(job, stream, number, differs)
    odd = [rank for rank, entry in entries.items() if differs(entry) not in usual] if is_clear else list(entries)
    first = entries[odd[0]]
    other = next(entry for entry in entries.values() if differs(entry) != differs(first))
    step, other_step = _step_of(job, entries, first), _step_of(job, entries, other)
    if first.what != other.what:
        also = f", and so did {rank_list(odd[1:])}" if is_clear and len(odd) > 1 else ""
        kind = f"entered {named(first)} where the others entered {named(other)}{in_step(step)}{also}"
    else:
        kind = f"was in step {step} where the others were in step {other_step}: it skipped a collective"
    return Cause(
        tuple(odd),
        kind,
        "certain" if is_clear and len(odd) == 1 else "likely",
        f"collective {number}{_of_group(stream)} is {named(first)}{_of_step(step)} for {rank_list(odd)}, "
        f"and {named(other)}{_of_step(other_step)} for the others",
        _FIX,
        first.begun,
        first.place,
    )


def mismatched(job: Job) -> Cause | None:
    """Gloo ended a rank that received another size; it has left no dump, and the dumps of the others agree."""
    streams = [stream for stream in job.streams if stream != OWN]
    known = [rank for rank in job.ranks.values() if rank.has_dump and any(rank.streams.get(one) for one in streams)]
    if job.mismatch is None or not known:
        return None
    last = [(stream, max(rank.streams[stream])) for rank in known for stream in streams if rank.streams.get(stream)]
    stream, number = max(last, key=lambda one: max(map(begun, _entries(job, *one).values())))
    entry = next(iter(_entries(job, stream, number).values()))
    due = {sign for rank in known for sign in _followers(rank.streams.get(stream, {}), number, CONTEXTS[0])}
    is_due = not due or any(_sign(rank.streams.get(stream, {}), number) in due for rank in known)
    members = job.members_of(stream)
    odd = [rank for rank in members if not job.ranks.get(rank, Rank(rank)).has_dump]
    odd = _of_another_size(job, entry, odd, len(members))
    kind = f"entered another collective than {named(entry)}, which the others entered as number {number}"
    if not is_due:
        odd = [rank.number for rank in known]
        kind = f"entered {named(entry)} as number {number}, which was not expected next"
    step = job.ranks[odd[0]].step if odd and odd[0] in job.ranks else None
    return Cause(
        tuple(sorted(odd)),
        f"{kind}{in_step(step)}",
        "likely" if len(odd) == 1 else "cannot_tell",
        f"a rank received another size than it expected in {named(entry)} {number}"
        + ("" if len(odd) == 1 else f", and {rank_list(sorted(odd))} may have sent it"),
        _FIX,
        entry.begun,
        job.mismatch,
    )


def _of_another_size(job: Job, entry: Entry, suspects: list[int], ranks: int) -> list[int]:
    """The suspects that expected a size which no piece of `entry` has; all suspects if that does not tell."""
    pieces = gloo_ring.pieces(entry.operator, entry.shape, ranks)
    others = [rank for rank in suspects if rank in job.expected and job.expected[rank] not in pieces]
    has_said = all(rank in job.expected for rank in suspects)
    return others if pieces and has_said and others else suspects


def _step_of(job: Job, entries: Mapping[int, Entry], entry: Entry) -> int | None:
    """The step of an entry; torch's recorder does not know it, but the rank counts its steps."""
    if entry.step is not None:
        return entry.step
    return next(job.ranks[rank].step for rank, one in entries.items() if one is entry)


def _of_step(step: int | None) -> str:
    return "" if step is None else f" of step {step}"


def _of_group(stream: str) -> str:
    return f" of group {stream}" if stream else ""


def _usual(job: Job, stream: str, number: int, differs: Callable[[Entry], object]) -> tuple[list[object], bool]:
    """What was to be expected as collective `number`: what most ranks did, or else what followed the same before.

    The two collectives before it may be together for the first time, as after an evaluation. Then one before it counts,
    or what was done at any time.
    """
    entries = _entries(job, stream, number)
    most = most_common(differs(entry) for entry in entries.values())
    if len(most) == 1:
        return most, True
    streams = {rank.number: rank.streams.get(stream, {}) for rank in job.ranks.values()}
    by_context = ({sign for own in streams.values() for sign in _followers(own, number, past)} for past in CONTEXTS)
    expected = next(filter(None, by_context), set())
    fitting = [rank for rank in entries if _sign(streams[rank], number) in expected]
    found = {differs(entries[rank]) for rank in fitting}
    return list(found), 0 < len(found) < len(most)


Sign = tuple[object, int]


def _sign(entries: Mapping[int, Entry], number: int) -> Sign | None:
    """A collective apart from its number: what it is, and the steps since the one before."""
    own, before = entries.get(number), entries.get(number - 1)
    if own is None or before is None:
        return None
    return own.what, (own.step or 0) - (before.step or 0)


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
