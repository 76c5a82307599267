"""Which rank waits for which: the edges that link tables, timeouts of operators and the rendezvous state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.facts import MAX_RANK, Event
from hccl_kit.diagnosis.verdict.diagnosis import Suspect, Wait
from hccl_kit.diagnosis.verdict.job import Job, Rank, stated

CODES = {
    facts.LinkTimedOut: "EI0006",
    facts.LinkRow: "EI0006",
    facts.LinkFailed: "EI0009",
    facts.P2PTimedOut: "EI0010",
    facts.OperatorTimedOut: "EI0002",
    facts.RootUnreachable: "EI0015",
    facts.RootSilent: "EI0015",
    facts.JoinFailed: "EI0015",
}
"""The code that HCCL prints with each of these facts; EI0006 stands for all link timeouts, as in HCCL since 8.0."""
WAITING = (*CODES, facts.Watchdog)


class Edge(NamedTuple):
    """A rank waits for another one. `target` is None if the line does not name a rank of this job.

    `peer` is what the line says of it. `may_be_cause`: whether the awaited rank may be the cause. The root of a
    communicator never is: it answers only when all others have joined.
    """

    source: Suspect
    target: Suspect | None
    code: str | None
    event: Event
    peer: Suspect | None = None
    may_be_cause: bool = True


@dataclass(frozen=True)
class Waits:
    """All waits of a job. `waiting` are the ranks that wait, each with its first event of waiting."""

    edges: tuple[Edge, ...]
    waiting: Mapping[Suspect, Event]
    inside: frozenset[Suspect]
    """Ranks whose operator waited for another task of the same card, which may itself have waited for a rank."""

    @cached_property
    def targets(self) -> Mapping[Suspect, frozenset[Suspect]]:
        """The ranks that each rank waits for, as far as they are known."""
        of_source: dict[Suspect, set[Suspect]] = defaultdict(set)
        for edge in self.edges:
            if edge.target is not None and edge.target != edge.source and edge.may_be_cause:
                of_source[edge.source].add(edge.target)
        return {source: frozenset(targets) for source, targets in of_source.items()}

    @cached_property
    def awaited(self) -> frozenset[Suspect]:
        """All ranks that another one waits for."""
        return frozenset().union(*self.targets.values()) if self.targets else frozenset()

    @cached_property
    def ends(self) -> frozenset[Suspect]:
        """Awaited ranks that wait for no other: the ends of the chains."""
        return frozenset(suspect for suspect in self.awaited if suspect not in self.targets)

    @cached_property
    def names_unknown(self) -> bool:
        """Whether a rank waits in an operator for one that its log names, but nothing tells which rank that is."""
        return any(edge.target is None and isinstance(edge.event.fact, facts.OperatorTimedOut) for edge in self.edges)

    @cached_property
    def sources(self) -> Mapping[Suspect, frozenset[Suspect]]:
        """The ranks that wait for each rank directly."""
        of_target: dict[Suspect, set[Suspect]] = defaultdict(set)
        for source, targets in self.targets.items():
            for awaited in targets:
                of_target[awaited].add(source)
        return {target: frozenset(sources) for target, sources in of_target.items()}

    def leading_to(self, target: Suspect) -> frozenset[Suspect]:
        """All ranks from which a chain of waits leads to a rank, which is one of them if it is in a ring."""
        seen: set[Suspect] = set()
        todo = [target]
        while todo:
            new = self.sources.get(todo.pop(), frozenset()) - seen
            seen |= new
            todo.extend(new)
        return frozenset(seen)

    def edges_to(self, target: Suspect) -> tuple[Edge, ...]:
        """The waits for one rank."""
        return tuple(edge for edge in self.edges if edge.target == target)

    def all_lead_to(self, *ranks: Suspect) -> bool:
        """Whether all chains of waits lead to one of these ranks."""
        return bool(self.targets) and self.targets.keys() <= frozenset(ranks).union(*map(self.leading_to, ranks))

    @cached_property
    def rings(self) -> tuple[Suspect, ...]:
        """The ranks that wait for each other: all but those that wait for no other, or that no other awaits."""
        left = set(self.targets)
        while ends := {
            suspect
            for suspect in left
            if not (left & self.targets[suspect] and left & self.sources.get(suspect, set()))
        }:
            left -= ends
        return tuple(suspect for suspect in self.targets if suspect in left)


def waits(job: Job) -> Waits:
    """The waits of all ranks."""
    edges = tuple(_with_known_rank(job, edge) for rank in job.ranks for edge in _edges(job, rank))
    waiting: dict[Suspect, Event] = {}
    for rank in job.ranks:
        for event in rank.events:
            if isinstance(event.fact, WAITING):
                waiting.setdefault(rank.suspect, event)
    inside = frozenset(
        rank.suspect for rank, _, fact in stated(job.ranks, facts.OperatorTimedOut) if fact.awaited == "local"
    )
    return Waits(edges, waiting, inside)


def _with_known_rank(job: Job, edge: Edge) -> Edge:
    """The edge with one name for its target, if a line names more of it than others do."""
    if edge.target is None or edge.target.rank is None:
        return edge
    return edge._replace(target=job.by_number.get(edge.target.rank, edge.target))


def cascade(job: Job, waits: Waits, first: Suspect | None) -> Iterator[Wait]:
    """The ranks that waited, each with those that it waited for: all of a record for the `first` fault, if known."""
    by_source: dict[Suspect, dict[Suspect | None, Edge]] = defaultdict(dict)
    for edge in waits.edges:
        by_source[edge.source].setdefault(edge.target, edge)
    for rank in job.ranks:
        source = rank.suspect
        if first and (source == first or (source.rank is not None and source.rank == first.rank)):
            continue
        edges = by_source.get(source, {})
        known = [edge for target, edge in edges.items() if target is not None] or list(edges.values())
        causes = [edge for edge in known if edge.may_be_cause] or known
        for edge in causes:
            peer = edge.target or edge.peer
            yield Wait(source, peer if peer != source else None, edge.code, edge.event.time, edge.event.place)
        if not known and (event := waits.waiting.get(source)):
            yield Wait(source, None, CODES.get(type(event.fact)), event.time, event.place)
        elif not known and first and rank.record and (event := rank.record.suffering):
            yield Wait(source, first, None, event.time, event.place)


def _edges(job: Job, rank: Rank) -> Iterator[Edge]:
    for event in rank.events:
        fact = event.fact
        if isinstance(fact, facts.LinkRow):
            peer = Suspect(fact.peer_rank, fact.peer_address, None)
            yield Edge(rank.suspect, _of_row(job, rank, fact), "EI0006", event, peer)
        elif isinstance(fact, facts.LinkFailed):
            peer = job.at_card(fact.peer)
            # Without its card a peer is unknown: the rank numbers of these lines are not always those of users.
            yield Edge(rank.suspect, peer if peer.rank is not None else None, "EI0009", event, peer)
        elif isinstance(fact, facts.P2PTimedOut):
            yield Edge(rank.suspect, _of_p2p(job, rank, fact), "EI0010", event)
        elif isinstance(fact, facts.OperatorTimedOut) and isinstance(fact.awaited, int):
            yield Edge(rank.suspect, job.in_group(rank, fact.awaited, fact.group, fact.rank), "EI0002", event)
        elif isinstance(fact, facts.RootUnreachable):
            yield Edge(rank.suspect, _root(job, rank), "EI0015", event)
        elif isinstance(fact, facts.RootSilent):
            yield Edge(rank.suspect, _root(job, rank), "EI0015", event, may_be_cause=False)
        elif isinstance(fact, facts.Connected | facts.NeverConnected):
            for number in missing(job, rank, fact):
                target = job.in_group(rank, number, failed_group(rank), None)
                yield Edge(rank.suspect, target, "EI0015", event, Suspect(number, None, None))
        elif isinstance(fact, facts.ErrorCqe):
            yield Edge(rank.suspect, None, "EI0013", event, job.at_card(fact.peer))


def _of_row(job: Job, rank: Rank, fact: facts.LinkRow) -> Suspect | None:
    by_address = job.by_address.get(fact.peer_address) if fact.peer_address else None
    if by_address is not None:
        return by_address
    if fact.peer_rank is None:
        return None
    return job.in_group(rank, fact.peer_rank, None, fact.rank)


def _of_p2p(job: Job, rank: Rank, fact: facts.P2PTimedOut) -> Suspect | None:
    if rank.card.server is None or fact.peer_physical is None:
        return None
    return job.by_card.get((rank.card.server, fact.peer_physical))


def _root(job: Job, rank: Rank) -> Suspect | None:
    groups = [group for group in rank.groups if group == job.world] or list(rank.groups)
    return job.in_group(rank, 0, groups[0], None) if groups else None


def missing(job: Job, rank: Rank, fact: facts.Connected | facts.NeverConnected) -> frozenset[int]:
    """The ranks that the root of a communicator has not heard from, as the communicator counts.

    If nothing tells its size, those below the highest one that the root has heard from.
    """
    if isinstance(fact, facts.NeverConnected):
        return frozenset(fact.ranks)
    size = fact.expected or _size(rank) or job.size or max(fact.ranks, default=-1) + 1
    return frozenset(range(size)) - frozenset(fact.ranks) if size and size <= MAX_RANK else frozenset()


def _size(rank: Rank) -> int | None:
    """The size of the communicator that failed, else of the last one that the process joined."""
    for kind in (facts.JoinFailed, facts.Joined):
        for event in reversed(rank.events):
            if isinstance(event.fact, kind) and event.fact.ranks:
                return event.fact.ranks
    return None


def failed_group(rank: Rank) -> str | None:
    """The communicator whose creation failed, else the last one that the process joined."""
    for event in reversed(rank.events):
        if isinstance(event.fact, facts.JoinFailed) and event.fact.group:
            return event.fact.group
    return next(reversed([*rank.groups]), None)
