"""Operators that differ between ranks, and ranks that wait for a task of their own card."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from hccl_kit.diagnosis.facts import (
    ArgumentMismatch,
    Event,
    OperatorEntered,
    OperatorTimedOut,
    VersionMismatch,
    Watchdog,
)
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, by_rank, cannot_tell, named
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.job import Rank

MANY = 3
"""With more than this many ranks for each one in the rarest operator, the rank in that operator is the odd one."""
_SAME_CANN = "install one release of CANN on all servers; `hccl-kit preflight TABLE --all` compares them"
_PIPELINE = ("send", "receive", "recv", "batchsendrecv")
_FIX = "make all ranks call the same operators in the same order: compare the branches that their programs took"


class Position(NamedTuple):
    """The position of a rank in a communicator: the number of the operator, which one it is, its arguments."""

    suspect: Suspect
    event: Event
    number: int | None
    operator: str | None
    elements: int | None
    data_type: str | None


def waits_for_itself(case: Case) -> Cause | None:
    """The only rank whose operator waited for a task of the same card: others wait for it."""
    if len(case.waits.itself) != 1:
        return None
    (suspect,) = case.waits.itself
    events = tuple(
        event
        for event in case.job.by_suspect[suspect].events
        if isinstance(event.fact, OperatorTimedOut) and event.fact.awaited == "local"
    )
    return Cause(
        "likely",
        "waited for a task of its own card",
        (suspect,),
        "EI0002",
        events,
        fix=f"see earlier errors in the log of {named(suspect)}, and the state of its card: `npu-smi info`",
        supports=("the chain of waits ends there",) if suspect in case.waits.awaited else (),
    )


def diverging(case: Case) -> Cause | None:
    """The rank that is behind the others, or in another operator.

    Of a pipeline, stages are legitimately in different sends and receives.
    """
    for group, everyone in _positions(case).items():
        if crossing := _crossing(case, [one for one in everyone if str(one.operator).lower() in _PIPELINE]):
            return crossing
        positions = [one for one in everyone if str(one.operator).lower() not in _PIPELINE]
        if pair := _pair(case, positions):
            return pair
        for kind, keys in _compared(positions):
            found = _odd(positions, keys, kind, group)
            if found is not None:
                return found
    return None


def _crossing(case: Case, positions: list[Position]) -> Cause | None:
    """Two stages of a pipeline that wait for each other in the same operator: both receive, or both send."""
    by_suspect = {one.suspect: one for one in positions}
    pairs = [
        (one, by_suspect[peer])
        for one in positions
        for peer in case.waits.targets.get(one.suspect, ())
        if peer in by_suspect
        and one.suspect in case.waits.targets.get(peer, ())
        and by_rank(one.suspect) < by_rank(peer)
        and one.operator == by_suspect[peer].operator
    ]
    if len(pairs) != 1:
        return None
    ((one, other),) = pairs
    return Cause(
        "likely",
        f"waits in {one.operator} for its peer, which waits in {other.operator} for it",
        (one.suspect, other.suspect),
        "EI0002",
        (one.event, other.event),
        fix="one of the two must send first: compare the schedules of these two stages of the pipeline",
        supports=("the other ranks do not wait for each other",),
    )


def _compared(positions: list[Position]) -> Iterator[tuple[str, Sequence[Hashable]]]:
    """What must be equal, each with a sentence for the rank that differs: its value, and that of the others."""
    yield "is behind the others: at number {} of {operator}, they at {}", [one.number for one in positions]
    yield "is in another operator than the others: in {}, they in {}", [one.operator for one in positions]
    yield "called {operator} with another number of elements: {}, they with {}", [one.elements for one in positions]
    yield "called {operator} with another data type: {}, they with {}", [one.data_type for one in positions]


def _pair(case: Case, positions: list[Position]) -> Cause | None:
    """The only two ranks that wait for each other, if they are in different operators."""
    targets, by_suspect = case.waits.targets, {one.suspect: one for one in positions}
    pairs = {
        frozenset((one, other))
        for one, others in targets.items()
        for other in others
        if one in targets.get(other, ()) and one in by_suspect and other in by_suspect
    }
    if len(pairs) != 1:
        return None
    one, other = sorted(
        (by_suspect[suspect] for suspect in pairs.pop()),
        key=lambda position: (position.suspect.rank is None, position.suspect.rank or 0),
    )
    if one.operator is None or other.operator is None or one.operator == other.operator:
        return None
    if min(Counter(position.operator for position in positions if position.operator).values()) * MANY < len(positions):
        return None  # Most others tell which of the two is the odd one.
    return Cause(
        "likely",
        "waits for its peer, which is in another operator",
        (one.suspect, other.suspect),
        "EI0006",
        (one.event, other.event),
        fix=_FIX,
        supports=(f"{named(one.suspect)} is in {one.operator}, {named(other.suspect)} in {other.operator}",),
    )


def _odd(positions: list[Position], keys: Sequence[Hashable], kind: str, group: str) -> Cause | None:
    known = [(key, one) for key, one in zip(keys, positions, strict=True) if key is not None]
    counts = Counter(key for key, _ in known)
    if len(counts) < 2:
        return None
    events = tuple(one.event for _, one in known)
    (few, number), *_ = sorted(counts.items(), key=lambda item: item[1])
    suspects = [one.suspect for key, one in known if key == few]
    if number * 2 == len(known) == 2:
        return Cause(
            "likely",
            "is in another operator than its peer",
            tuple(one.suspect for _, one in known),
            "EI0005",
            events,
            fix=_FIX,
            supports=(f"the two ranks of {group} are in different operators",),
        )
    if len(counts) > 2 or number * 2 >= len(known) or (number > 1 and len(counts) != 2):
        return cannot_tell(
            f"the ranks of {group} are in different operators", [one.suspect for _, one in known], events
        )
    of_others = next(key for key in counts if key != few)
    if isinstance(few, int) and isinstance(of_others, int) and few > of_others:
        kind = kind.replace("is behind the", "is ahead of the")
    operator = next((one.operator for key, one in known if key == few and one.operator), "the operator")
    return Cause(
        "likely",
        f"{kind.format(few, of_others, operator=operator)} (group {group})",
        tuple(suspects),
        "EI0005",
        tuple(event for event in events if event in [one.event for key, one in known if key == few]) + events[:2],
        fix=_FIX,
        supports=(f"{len(known) - number} other ranks of {group} agree",),
    )


def _positions(case: Case) -> dict[str, list[Position]]:
    """The operator in which each rank of a communicator was when it gave up."""
    found: dict[str, list[Position]] = defaultdict(list)
    for rank in case.job.ranks:
        for group, position in _of_rank(case, rank):
            found[group].append(position)
    return found


def _of_rank(case: Case, rank: Rank) -> Iterator[tuple[str, Position]]:
    last: dict[str, Position] = {}
    gave_up: dict[str, Position] = {}
    waiting = rank.suspect in case.waits.waiting
    for event in rank.events:
        fact = event.fact
        group = getattr(fact, "group", None)
        if isinstance(fact, OperatorTimedOut) and fact.tag:
            name = case.job.canonical(group) or _only(rank)
            if name and name not in gave_up:
                gave_up[name] = Position(
                    rank.suspect, event, fact.position, _operator(fact.tag), fact.elements, fact.data_type
                )
        elif isinstance(fact, OperatorEntered) and waiting:
            name = case.job.canonical(group) or _only(rank)
            if name:
                operator = (fact.tag and _operator(fact.tag)) or fact.operator
                last[name] = Position(rank.suspect, event, fact.position, operator, fact.elements, fact.data_type)
        elif isinstance(fact, Watchdog):
            name = group or "the job"
            gave_up[name] = Position(rank.suspect, event, fact.sequence, fact.operator, None, None)
    yield from (last | gave_up).items()


def _operator(tag: str) -> str:
    """`AllReduce` for the tag `AllReduce_10.0.0.1%eth0_60000_0_1732766162316022`, `AllGather` for
    `HcomAllGather_58718_0`.
    """
    return re.split(r"[_-]", tag, maxsplit=1)[0].removeprefix("Hcom")


def _only(rank: Rank) -> str | None:
    return next(iter(rank.groups)) if len(rank.groups) == 1 else None


def arguments(case: Case) -> Cause | None:
    """Ranks that HCCL itself found to differ (EI0005)."""
    found = [
        (rank, event, event.fact)
        for rank in case.job.ranks
        for event in rank.events
        if isinstance(event.fact, ArgumentMismatch)
    ]
    if not found:
        return None
    values: dict[str, set[Suspect]] = defaultdict(set)
    for rank, _, fact in found:
        values[fact.own].add(rank.suspect)
        if fact.peer_rank is not None and (peer := case.job.in_group(rank, fact.peer_rank, None, None)):
            values[fact.other].add(peer)
    events = tuple(event for _, event, _ in found)
    everyone = list(dict.fromkeys(one for members in values.values() for one in members))
    by_count = sorted(values.values(), key=len)
    fact = found[0][2]
    if len(by_count) == 2 and len(by_count[0]) == 1 and len(by_count[1]) > 1:
        suspects: tuple[Suspect, ...] = tuple(by_count[0])
    elif len(by_count) == 2 and len(everyone) == 2:  # of two that agree, the third that differs left no such line
        suspects = tuple(everyone)
    else:
        return cannot_tell(
            f"ranks differ in the {fact.field} of an operator ({fact.own} and {fact.other})", everyone, events
        )
    return Cause(
        "likely",
        f"called an operator with another {fact.field} than the others",
        suspects,
        "EI0005",
        events,
        fix=_FIX,
        supports=(f"HCCL compared {fact.field}: {fact.own} here, {fact.other} there",),
    )


def versions(case: Case) -> Cause | None:
    """Ranks with different releases of HCCL (EI0008)."""
    found = [
        (rank, event, event.fact)
        for rank in case.job.ranks
        for event in rank.events
        if isinstance(event.fact, VersionMismatch)
    ]
    if not found:
        return None
    ranks: dict[str | None, set[Suspect]] = defaultdict(set)
    for rank, _, fact in found:
        ranks[fact.own].add(rank.suspect)
    events = tuple(event for _, event, _ in found)
    (odd, few), *rest = sorted(ranks.items(), key=lambda item: len(item[1]))
    if not rest or len(few) >= len(rest[-1][1]):
        releases = " and ".join(sorted({str(one) for _, _, fact in found for one in (fact.own, fact.other) if one}))
        kind = f"run different releases of HCCL: {releases}" if releases else "run different releases of HCCL"
        few = set().union(*ranks.values())
    else:
        usual, many = rest[-1]
        kind = f"runs HCCL {odd or 'of another release'}, unlike {len(many)} others with {usual or 'another one'}"
    return Cause(
        "likely",
        kind,
        tuple(sorted(few, key=by_rank)),
        "EI0008",
        events,
        fix=_SAME_CANN,
        supports=("HCCL compared the releases of both ends of a link",),
    )
