"""Links between cards: TLS that differs, lost packets, pairs that are broken or that HCCL names, and late ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined
from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.facts import Event, Unreachable
from hccl_kit.diagnosis.verdict.causes.cause import (
    Case,
    Cause,
    by_rank,
    cannot_tell,
    missing_log,
    missing_logs,
    verdict,
)
from hccl_kit.diagnosis.verdict.causes.heartbeats import NO_ACKNOWLEDGEMENT
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.job import Rank
from hccl_kit.diagnosis.verdict.names import rank_name, rank_names
from hccl_kit.diagnosis.verdict.waits import Edge, Waits

LINK_FACTS = (facts.LinkRow, facts.LinkFailed, facts.LinkTimedOut, facts.P2PTimedOut)
CONNECT_TIMEOUT, EXEC_TIMEOUT = "HCCL_CONNECT_TIMEOUT", "HCCL_EXEC_TIMEOUT"
_DEFAULTS = {CONNECT_TIMEOUT: 120.0, EXEC_TIMEOUT: 1836.0}
"""Seconds, of CANN 8.0 to 8.5; older releases wait 1800 s for an operator."""
MARGIN = 5.0


_SAME_TLS = Message(
    "diagnosis.same-tls.fix",
    "set TLS to the same value on all cards: `hccn_tool -i N -tls -s enable 0` on every server switches it off",
)


def tls(case: Case) -> Cause | None:
    """Cards with another TLS setting than most: such cards cannot connect."""
    by_switch: dict[bool, list[tuple[Suspect, Event]]] = {True: [], False: []}
    for rank in case.compared:
        states = [event for event in rank.events if isinstance(event.fact, facts.Tls)]
        if states:
            last = states[-1]
            assert isinstance(last.fact, facts.Tls)
            by_switch[last.fact.on].append((rank.suspect, last))
    few, many = sorted(by_switch.values(), key=len)
    if not few:
        return None
    suspects = [suspect for suspect, _ in few]
    events = [event for _, event in few[:8]] + [event for _, event in many[:1]]
    if len(few) == len(many):
        both = [*suspects, *(suspect for suspect, _ in many)]
        return verdict(
            "diagnosis.tls-half",
            "have TLS on for one half of the cards and off for the other",
            sorted(both, key=by_rank),
            events,
            code="EI0016",
            hint=_SAME_TLS,
        )
    assert isinstance(few[0][1].fact, facts.Tls)
    number = len(many)
    return verdict(
        "diagnosis.tls",
        "has TLS {state}, unlike {number} others",
        suspects,
        events,
        is_certain=len(few) == 1 and case.is_complete and len(few) + number == len(case.job.ranks),
        code="EI0016",
        hint=_SAME_TLS,
        why="cards with and without TLS cannot connect",
        state="on" if few[0][1].fact.on else "off",
        number=number,
    )


def error_cqe(case: Case) -> Cause | None:
    """Pairs that lost packets: the peer that most ranks name, or both ends of one link."""
    pairs = [(rank, case.job.at_card(fact.peer), event) for rank, event, fact in case.facts(facts.ErrorCqe)]
    if not pairs or any(rank.suspect in case.waits.waiting and _before(case, rank, event) for rank, _, event in pairs):
        return None
    events = [event for *_, event in pairs]
    peers = Counter(peer for _, peer in dict.fromkeys((rank.suspect, peer) for rank, peer, _ in pairs))
    sources = {rank.suspect for rank, *_ in pairs}
    if len(sources) == 2 and set(peers) == sources:
        return _between(sources, events)
    (peer, most), *others = peers.most_common()
    if others and others[0][1] == most:
        reason = Message("diagnosis.several-peers", "packets to {ranks} were lost", ranks=rank_names(peers))
        if not any(suspect in case.job.by_suspect for suspect in peers):
            reason = Message("diagnosis.silent-peers", "{reason}, whose logs are missing", reason=reason)
        return cannot_tell(reason, None, peers, events)
    name, senders = rank_name(peer), rank_names(sources)
    if most == 1 and peer.rank is None:
        return cannot_tell(
            "diagnosis.one-peer",
            "packets between {ranks} and {peer} were lost, and the log of the latter is missing",
            [peer, *sources],
            events,
            ranks=senders,
            peer=name,
        )
    if most == 1 and (peer not in case.job.by_suspect or peer in sources):
        source = next(iter(sources))
        return verdict(
            "diagnosis.lost-packets",
            "lost packets from {rank}: it has ended, or the link between them is broken",
            [peer, source],
            events,
            code="EI0013",
            hint=_link_fix(name),
            why="{rank} lost packets to it",
            contradicts=[] if peer in case.job.by_suspect else [missing_log(peer)],
            rank=rank_name(source),
        )
    why = Message("diagnosis.lost-to-it", "{ranks} lost packets to it", ranks=senders)
    return Cause("likely", NO_ACKNOWLEDGEMENT, (peer,), "EI0013", tuple(events), fix=_link_fix(name), supports=(why,))


def _link_fix(name: str) -> Message:
    return Message(
        "diagnosis.lost-packets.fix",
        "see whether {rank} ended before; else `hccn_tool -i N -link_stat -g` on both servers",
        rank=name,
    )


def _between(pair: set[Suspect], events: list[Event]) -> Cause:
    first, other = sorted(pair, key=by_rank)
    return verdict(
        "diagnosis.broken-link",
        "lost packets to {rank}, which lost packets to it: the link between them is broken",
        [first, other],
        events,
        code="EI0013",
        fix="`hccn_tool -i N -link_stat -g` and `-stat -g` for both cards, on {server} and {other}",
        why="both ends of one link name each other, and no other rank is named",
        rank=rank_name(other),
        server=first.server,
        other=other.server,
    )


def _before(case: Case, rank: Rank, event: Event) -> bool:
    """Whether the rank's first timeout is earlier than its lost packets."""
    waiting = case.waits.waiting[rank.suspect]
    return waiting.time is not None and event.time is not None and waiting.time < event.time


def broken_servers(pairs: Iterable[tuple[str | None, str | None]]) -> list[str]:
    """The servers at one end of all these broken links: one, or two if nothing tells which of them; else none."""
    ends = [frozenset(pair) for pair in pairs]
    if any(None in pair or len(pair) != 2 for pair in ends):
        return []
    return sorted(str(server) for server in frozenset.intersection(*ends)) if ends else []


def of_servers(case: Case, servers: Sequence[str], events: Sequence[Event]) -> Cause:
    """The links between servers are broken: those of one of them to all others, or those between two."""
    members = sorted({suspect for suspect in case.job.everyone if suspect.server in servers}, key=by_rank)
    suspects = members or [Suspect(None, server, None) for server in servers]
    names = joined(servers)
    if len(servers) == 1:
        kind = Message("diagnosis.cut-off", "has no link to other servers")
        why = Message("diagnosis.cut-off.why", "all broken links have one end on {server}", server=names)
    else:
        kind = Message(
            "diagnosis.one-cut-off",
            "has no link to the other server: one of {servers} is cut off from the network",
            servers=names,
        )
        why = Message("diagnosis.one-cut-off.why", "all are between {servers}", servers=names)
    fix = Message(
        "diagnosis.cut-off.fix",
        "check the network of the cards of {servers}: `hccn_tool -i N -link -g`, `-ip -g`, `-ping -g address X`",
        servers=names,
    )
    return Cause("likely", kind, tuple(suspects), "EI0006", tuple(events), fix=fix, supports=(why,))


def late(case: Case) -> Cause | None:
    """A rank that began to wait after the others had already given up waiting for it."""
    waiting = [
        (time, rank, event)
        for rank in case.job.ranks
        if (event := case.waits.waiting.get(rank.suspect))
        and isinstance(event.fact, LINK_FACTS)
        and (time := case.clocks.corrected(case.job.clock[rank.process], event.time)) is not None
    ]
    if len(waiting) < 2 or len(waiting) != len(case.waits.waiting):
        return None
    waiting.sort(key=lambda item: item[0])
    limit = timeout(case)
    last, before = waiting[-1], waiting[-2]
    seconds = last[0] - waiting[0][0]
    suspect = last[1].suspect
    others = frozenset(end for end in case.waits.ends if case.waits.sources[end] != {suspect})
    if not others <= case.waits.targets.get(suspect, frozenset()).intersection(case.job.silent):
        return None  # one without a log that this rank waits for too may itself have given up waiting for it
    if last[0] - before[0] <= (limit if case.waits.targets else MARGIN) or seconds <= limit + MARGIN:
        return None
    everyone = case.is_complete and len(waiting) == len(case.job.ranks)
    if not everyone and not case.waits.all_lead_to(suspect, *others):
        return None
    return verdict(
        "diagnosis.late-connection",
        "started to connect {seconds:.0f} s after the first rank",
        [suspect],
        [last[2], waiting[0][2]],
        code="EI0006",
        fix="find out what delayed {rank}, or set HCCL_CONNECT_TIMEOUT above {seconds:.0f} on all ranks",
        why="it gave up {seconds:.0f} s after the first rank, more than the timeout of {timeout:.0f} s",
        contradicts=[missing_logs(case.job)] if others else [],
        seconds=seconds,
        rank=rank_name(suspect),
        timeout=limit,
    )


def timeout(case: Case, name: str = CONNECT_TIMEOUT) -> float:
    """A timeout of HCCL in seconds, as the logs show it, or its default."""
    values = [
        float(fact.value) for _, _, fact in case.facts(facts.Setting) if fact.name == name and fact.value.isdigit()
    ]
    return median(values) if values else _DEFAULTS[name]


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
