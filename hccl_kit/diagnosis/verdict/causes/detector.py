"""Missing connections that HCCL's own detector names."""

from __future__ import annotations

from hccl_kit.base.message import Message
from hccl_kit.diagnosis.facts import Unreachable
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, by_rank, cannot_tell, verdict
from hccl_kit.diagnosis.verdict.causes.links import broken_servers, of_servers
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.names import rank_name, rank_names
from hccl_kit.diagnosis.verdict.waits import Edge, Waits


def detector(case: Case) -> Cause | None:
    """The pairs that HCCL's own detector names, if they have one end in common: it follows missing connections."""
    at_card = case.job.at_card
    edges = tuple(
        Edge(at_card(fact.source), at_card(fact.destination), "EI0006", event)
        for _, event, fact in case.facts(Unreachable)
    )
    waits = Waits(edges, {}, frozenset())
    if not edges:
        return None
    return _one_end(case, min(waits.ends), waits) if len(waits.ends) == 1 else _several_ends(case, waits)


def _several_ends(case: Case, waits: Waits) -> Cause:
    events = [edge.event for edge in waits.edges]
    pairs = [(source.server, target.server) for source, targets in waits.targets.items() for target in targets]
    if len(waits.edges) > 1 and (servers := broken_servers(pairs)):
        return of_servers(case, servers, events)
    both = sorted(waits.awaited | waits.targets.keys(), key=by_rank)
    reason = Message(
        "diagnosis.no-connections", "HCCL's detector finds no connection between {ranks}", ranks=rank_names(both)
    )
    return cannot_tell(reason, None, sorted(waits.ends, key=by_rank) or both, events)


def _one_end(case: Case, end: Suspect, waits: Waits) -> Cause:
    events, name = [edge.event for edge in waits.edges], rank_name(end)
    if not waits.all_lead_to(end):
        return cannot_tell(
            "diagnosis.other-connections",
            "HCCL's detector finds broken connections apart from those to {rank}",
            [end],
            events,
            rank=name,
        )
    if end not in case.job.by_suspect and (end.rank is None or len(waits.sources[end]) < 2):
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
