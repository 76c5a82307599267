"""Missing connections that HCCL's own detector names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set

from hccl_kit.base.message import Message
from hccl_kit.diagnosis.facts import Event, Unreachable
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, cannot_tell, verdict
from hccl_kit.diagnosis.verdict.causes.links import broken_servers, of_servers
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.job import stated
from hccl_kit.diagnosis.verdict.names import rank_name, rank_names

Pair = tuple[Suspect, Suspect, Event]
"""The source and the destination of a missing connection, and the line that names them."""


def detector(case: Case) -> Cause | None:
    """The pairs that HCCL's own detector names, if they have one end in common."""
    pairs = [
        (case.job.at_card(fact.source), case.job.at_card(fact.destination), event)
        for _, event, fact in stated(case.job.ranks, Unreachable)
    ]
    if not pairs:
        return None
    # The detector follows missing connections: a destination that is itself a source is not the end.
    sources = {source for source, _, _ in pairs}
    ends = list(dict.fromkeys(destination for _, destination, _ in pairs if destination not in sources))
    return _one_end(case, ends[0], pairs) if len(ends) == 1 else _several_ends(case, ends, pairs)


def _several_ends(case: Case, ends: Sequence[Suspect], pairs: Sequence[Pair]) -> Cause:
    events = [event for *_, event in pairs]
    if (servers := broken_servers((one.server, other.server) for one, other, _ in pairs)) and len(pairs) > 1:
        return of_servers(case, servers, events)
    both = list(dict.fromkeys(end for pair in pairs for end in pair[:2]))
    reason = Message(
        "diagnosis.no-connections", "HCCL's detector finds no connection between {ranks}", ranks=rank_names(both)
    )
    return cannot_tell(reason, None, ends or both, events)


def _one_end(case: Case, end: Suspect, pairs: Sequence[Pair]) -> Cause:
    sources_of: dict[Suspect, set[Suspect]] = defaultdict(set)
    for source, destination, _ in pairs:
        sources_of[destination].add(source)
    events, name = [event for *_, event in pairs], rank_name(end)
    if _leading_to(end, sources_of) != {source for source, _, _ in pairs}:
        return cannot_tell(
            "diagnosis.other-connections",
            "HCCL's detector finds broken connections apart from those to {rank}",
            [end],
            events,
            rank=name,
        )
    if end not in case.job.by_suspect and (end.rank is None or len(sources_of[end]) < 2):
        return cannot_tell(
            "diagnosis.silent-end",
            "HCCL's detector names a broken connection to {rank}, whose log is missing",
            [end],
            events,
            rank=name,
        )
    return verdict(
        "diagnosis.unreachable",
        "is not reachable",
        [end],
        events,
        code="EI0006",
        fix="check whether {rank} is running and called the operator; if so, check the network of its card",
        why="HCCL's own detector of broken connections names it",
        rank=name,
    )


def _leading_to(end: Suspect, sources_of: Mapping[Suspect, Set[Suspect]]) -> Set[Suspect]:
    """All from which missing connections lead to this end."""
    leading, todo = set(sources_of[end]), list(sources_of[end])
    while todo:
        new = sources_of.get(todo.pop(), set()) - leading
        leading |= new
        todo.extend(new)
    return leading
