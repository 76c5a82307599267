"""Operators that differ between ranks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.facts import Event
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, by_rank, cannot_tell, verdict
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.job import Rank
from hccl_kit.diagnosis.verdict.names import rank_name

MANY = 3
"""With more than this many ranks for each one in the rarest operator, the rank in that operator is the odd one."""
_PIPELINE = ("send", "receive", "recv", "batchsendrecv")
SAME_OPERATORS = Message(
    "diagnosis.same-operators.fix",
    "make all ranks call the same operators in the same order: compare the branches that their programs took",
)


class Position(NamedTuple):
    """The position of a rank in a communicator: the number of the operator, which one it is, its arguments."""

    suspect: Suspect
    event: Event
    number: int | None
    operator: str | None
    elements: int | None
    data_type: str | None


def diverging(case: Case) -> Cause | None:
    """The rank that is behind the others, or in another operator.

    Of a pipeline, stages are legitimately in different sends and receives.
    """
    for group, everyone in _positions(case).items():
        if crossing := _crossing(
            case, [position for position in everyone if str(position.operator).lower() in _PIPELINE]
        ):
            return crossing
        positions = [position for position in everyone if str(position.operator).lower() not in _PIPELINE]
        if pair := _pair(case, positions):
            return pair
        if odd := next(filter(None, (_odd(positions, field, group) for field in _FIELDS)), None):
            return odd
    return None


def _crossing(case: Case, positions: list[Position]) -> Cause | None:
    """Two stages of a pipeline that wait for each other in the same operator: both receive, or both send."""
    pairs = [(position, other) for position, other in _mutual(case, positions) if position.operator == other.operator]
    if len(pairs) != 1:
        return None
    ((one, other),) = pairs
    return verdict(
        "diagnosis.both-wait",
        "waits in {operator} for its peer, which waits in {operator} for it",
        [one.suspect, other.suspect],
        [one.event, other.event],
        code="EI0002",
        fix="one of the two must send first: compare the schedules of these two stages of the pipeline",
        why="the other ranks do not wait for each other",
        operator=one.operator,
    )


def _pair(case: Case, positions: list[Position]) -> Cause | None:
    """The only two ranks that wait for each other, if they are in different operators."""
    pairs = _mutual(case, positions)
    if len(pairs) != 1:
        return None
    ((one, other),) = pairs
    if one.operator is None or other.operator is None or one.operator == other.operator:
        return None
    if min(Counter(position.operator for position in positions if position.operator).values()) * MANY < len(positions):
        return None  # Most others tell which of the two is the odd one.
    return verdict(
        "diagnosis.pair-apart",
        "waits for its peer, which is in another operator",
        [one.suspect, other.suspect],
        [one.event, other.event],
        code="EI0006",
        hint=SAME_OPERATORS,
        why="{rank} is in {operator}, {other} in {others}",
        rank=rank_name(one.suspect),
        operator=one.operator,
        other=rank_name(other.suspect),
        others=other.operator,
    )


def _mutual(case: Case, positions: list[Position]) -> list[tuple[Position, Position]]:
    """Ranks that wait for each other, each pair once."""
    targets, by_suspect = case.waits.targets, {position.suspect: position for position in positions}
    return [
        (position, by_suspect[peer])
        for position in positions
        for peer in targets.get(position.suspect, ())
        if peer in by_suspect
        and position.suspect in targets.get(peer, ())
        and by_rank(position.suspect) < by_rank(peer)
    ]


_FIELDS = ("number", "operator", "elements", "data_type")
"""What must be equal, in this order."""


def _odd(positions: list[Position], field: str, group: str) -> Cause | None:
    known = [(key, position) for position in positions if (key := getattr(position, field)) is not None]
    counts = Counter(key for key, _ in known)
    if len(counts) < 2:
        return None
    suspects, events = [position.suspect for _, position in known], [position.event for _, position in known]
    (few, number), *_ = sorted(counts.items(), key=lambda item: item[1])
    if number * 2 == len(known) == 2:
        return verdict(
            "diagnosis.two-apart",
            "is in another operator than its peer",
            suspects,
            events,
            code="EI0005",
            hint=SAME_OPERATORS,
            why="the two ranks of {group} are in different operators",
            group=group,
        )
    if len(counts) > 2 or number * 2 >= len(known) or (number > 1 and len(counts) != 2):
        reason = Message("diagnosis.ranks-apart", "the ranks of {group} are in different operators", group=group)
        return cannot_tell(reason, None, suspects, events)
    odd = [position for key, position in known if key == few]
    operator = next(
        (position.operator for position in odd if position.operator), Message("diagnosis.the-operator", "the operator")
    )
    return verdict(
        "diagnosis.odd",
        "{difference} (group {group})",
        [position.suspect for position in odd],
        [*(position.event for position in odd), *events[:2]],
        code="EI0005",
        hint=SAME_OPERATORS,
        why="{number} other ranks of {group} agree",
        difference=_difference(field, operator, few, next(key for key in counts if key != few)),
        group=group,
        number=len(known) - number,
    )


def _difference(field: str, operator: str, own: object, others: object) -> Message:
    """What differs: the value of the odd rank, and that of the others."""
    if field == "operator":
        return Message(
            "diagnosis.other-operator",
            "is in another operator than the others: in {own}, they in {others}",
            own=own,
            others=others,
        )
    if field == "number":
        is_ahead = isinstance(own, int) and isinstance(others, int) and own > others
        return Message(
            "diagnosis.other-number",
            "is {relation} the others: at number {own} of {operator}, they at {others}",
            relation=Message("diagnosis.in-front", "ahead of") if is_ahead else Message("diagnosis.at-back", "behind"),
            own=own,
            operator=operator,
            others=others,
        )
    is_type = field == "data_type"
    return Message(
        "diagnosis.other-value",
        "called {operator} with another {field}: {own}, they with {others}",
        operator=operator,
        field=Message("diagnosis.type", "data type") if is_type else Message("diagnosis.size", "number of elements"),
        own=own,
        others=others,
    )


def _positions(case: Case) -> dict[str, list[Position]]:
    """The operator in which each rank of a communicator was when it gave up."""
    by_group: dict[str, list[Position]] = defaultdict(list)
    for rank in case.job.ranks:
        for group, position in _of_rank(case, rank):
            by_group[group].append(position)
    return by_group


def _of_rank(case: Case, rank: Rank) -> Iterator[tuple[str, Position]]:
    last: dict[str, Position] = {}
    gave_up: dict[str, Position] = {}
    waiting = rank.suspect in case.waits.waiting
    for event in rank.events:
        fact = event.fact
        group = getattr(fact, "group", None)
        if isinstance(fact, facts.OperatorTimedOut) and fact.tag:
            name = case.job.canonical(group) or _only(rank)
            if name and name not in gave_up:
                gave_up[name] = Position(
                    rank.suspect, event, fact.position, _operator(fact.tag), fact.elements, fact.data_type
                )
        elif isinstance(fact, facts.OperatorEntered) and waiting:
            name = case.job.canonical(group) or _only(rank)
            if name:
                operator = (fact.tag and _operator(fact.tag)) or fact.operator
                last[name] = Position(rank.suspect, event, fact.position, operator, fact.elements, fact.data_type)
        elif isinstance(fact, facts.Watchdog):
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
