"""Ranks that others wait for in a collective: they ended in order, are late, left no record, or wait as well."""

from __future__ import annotations

from hccl_kit.base.wording import counted
from hccl_kit.diagnosis.verdict.recorded.cause import Cause, named, order, rank_list
from hccl_kit.diagnosis.verdict.recorded.job import OWN, Entry, Job, Rank


def left_early(job: Job) -> Cause | None:
    """A rank ended in order, and others wait for it."""
    front = _front(job)
    awaited = _awaited(job)
    for rank in job.ranks.values():
        if not rank.end or not _is_done(rank):
            continue
        entry = awaited.get(rank.number)
        is_behind = bool(rank.entries) and max(rank.entries) < front and not rank.is_cut
        if entry or is_behind:
            last = f"after collective {max(rank.entries)}" if rank.entries else "before that"
            return Cause(
                (rank.number,),
                f"finished after step {rank.step}, while the others continued",
                "certain",
                f"it left {last}; others are in collective {entry.sequence if entry else front}",
                "all ranks must take the same number of steps: compare the sizes of their data",
                rank.end.time,
                rank.end.place,
            )
    return None


def late(job: Job) -> Cause | None:
    """Others are inside a collective that a living rank has not entered, and it does not wait itself."""
    waiting = [rank for rank in job.ranks.values() if rank.inside]
    awaited = _awaited(job)
    behind = [rank for rank in job.ranks.values() if rank.number in awaited and not rank.end and rank.inside is None]
    if not waiting or not behind:
        return None
    first = min(behind, key=lambda rank: (awaited[rank.number].sequence, rank.number))
    entry = awaited[first.number]
    busy = "is in no collective" if first.alive is None else "is busy with its own code"
    doing = f"waits for {first.doing}" if first.doing else busy
    doing += "" if first.step is None else f" since step {first.step}"
    return Cause(
        (first.number, *(rank.number for rank in behind if rank is not first)),
        f"never entered {entry.operator} {entry.sequence}, where the others wait: it {doing}",
        "certain" if len(behind) == 1 and not any(rank.is_cut for rank in job.ranks.values()) else "likely",
        f"{len(waiting)} of {counted(job.size, 'rank')} have entered {entry.operator} {entry.sequence}, it has not"
        + ("; it is alive" if first.alive is not None else ""),
        "its data arrives too slowly: check the disk and the data loader of that server"
        if first.doing == "data"
        else "see its stacks and log",
        first.since or first.alive,
        first.place,
    )


def _awaited(job: Job) -> dict[int, Entry]:
    """The ranks that others wait for, with the first collective of others that they have not entered."""
    found: dict[int, Entry] = {}
    for stream in job.streams:
        blocked = sorted(
            (entry for rank in job.ranks.values() if (entry := rank.blocked.get(stream))),
            key=lambda entry: entry.sequence,
        )
        if not blocked:
            continue
        for number in job.members_of(stream):
            rank = job.ranks.get(number)
            if rank is None or rank.is_cut or (stream != OWN and not rank.has_dump and not _is_done(rank)):
                continue  # it may have entered it
            entries = rank.streams.get(stream)
            entered = max(entries) if entries else 0
            entry = next((one for one in blocked if one.sequence > entered), None)
            if entry is not None and (number not in found or order(entry.begun) < order(found[number].begun)):
                found[number] = entry
    return found


def crossed(job: Job) -> Cause | None:
    """Ranks wait for each other in collectives of different groups: they enter them in different orders."""
    awaited = _awaited(job)
    inside = {rank.number: entry for rank in job.ranks.values() if (entry := rank.inside) is not None}
    both = sorted(number for number in awaited if number in inside)
    if len(both) < 2 or any(number not in inside for number in awaited):
        return None
    first, other = both[0], next((number for number in both if inside[number] is awaited[both[0]]), both[1])
    return Cause(
        tuple(both),
        f"is in {named(inside[first])} {inside[first].sequence} while rank {other} is in {named(inside[other])} "
        f"{inside[other].sequence} of another group: they wait for each other",
        "likely",
        f"{rank_list(both)} each wait in a collective that another of them has not entered",
        "all ranks must enter the collectives of different groups in the same order",
        inside[first].begun,
        inside[first].place,
    )


def never_began(job: Job) -> Cause | None:
    """Ranks that left no record at all, while others wait."""
    waiting = [entry for rank in job.ranks.values() if (entry := rank.inside)]
    if not job.missing or not waiting:
        return None
    entry = max(waiting, key=lambda entry: entry.sequence)
    if len(job.missing) > len(job.ranks):  # most records were not collected, or are written elsewhere
        why = f"there is no record of {rank_list(job.missing)}, only of {rank_list(list(job.ranks))}"
        return Cause(tuple(job.missing), "", "cannot_tell", why, "")
    return Cause(
        tuple(job.missing),
        f"left no record, and the others wait in {entry.operator} {entry.sequence}",
        "likely",
        f"there is no record of {rank_list(job.missing)}",
        "check whether they were started; collect the folder of the run from their servers",
    )


def _is_done(rank: Rank) -> bool:
    return rank.end is not None and rank.end.how == "done"


def _front(job: Job) -> int:
    return max((max(rank.entries) for rank in job.ranks.values() if rank.entries), default=0)
