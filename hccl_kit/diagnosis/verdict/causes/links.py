"""Links between cards: settings that differ, broken pairs, and the ends of the chains of waits."""

from __future__ import annotations

from collections import Counter
from statistics import median

from hccl_kit.diagnosis.logs.facts import (
    ErrorCqe,
    Event,
    LinkFailed,
    LinkRow,
    LinkTimedOut,
    P2PTimedOut,
    Setting,
    Tls,
    Unreachable,
)
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, cannot_tell, listed, missing_logs, named
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.job import Rank

LINK_FACTS = (LinkRow, LinkFailed, LinkTimedOut, P2PTimedOut)
CONNECT_TIMEOUT = 120.0
"""Seconds, HCCL's default."""
MARGIN = 5.0


def tls(case: Case) -> Cause | None:
    """Cards with another TLS setting than most: such cards cannot connect."""
    found: dict[bool, list[tuple[Suspect, Event]]] = {True: [], False: []}
    for rank in case.job.ranks:
        states = [event for event in rank.events if isinstance(event.fact, Tls)]
        if states:
            last = states[-1]
            assert isinstance(last.fact, Tls)
            found[last.fact.on].append((rank.suspect, last))
    few, many = sorted(found.values(), key=len)
    if not few:
        return None
    suspects = [suspect for suspect, _ in few]
    events = [event for _, event in few[:8]] + [event for _, event in many[:1]]
    if len(few) == len(many):
        both = [*suspects, *(suspect for suspect, _ in many)]
        return cannot_tell("TLS is on for one half of the cards and off for the other", both, events)
    assert isinstance(few[0][1].fact, Tls)
    state = "on" if few[0][1].fact.on else "off"
    return Cause(
        "certain" if len(few) == 1 and case.is_complete and len(few) + len(many) == len(case.job.ranks) else "likely",
        f"has TLS switched {state}, unlike {len(many)} others",
        tuple(suspects),
        "EI0016",
        tuple(events),
        fix="give all cards one state: `hccn_tool -i N -tls -s enable 0` on every server switches it off",
        supports=("cards with and without TLS cannot connect",),
    )


def error_cqe(case: Case) -> Cause | None:
    """Pairs that lost packets: the peer that several name, or that left before."""
    pairs = [
        (rank, case.job.at_card(event.fact.peer), event)
        for rank in case.job.ranks
        for event in rank.events
        if isinstance(event.fact, ErrorCqe)
    ]
    if not pairs or any(rank.suspect in case.waits.waiting and _before(case, rank, event) for rank, _, event in pairs):
        return None
    events = [event for *_, event in pairs]
    peers = Counter({peer: len({rank.suspect for rank, other, _ in pairs if other == peer}) for _, peer, _ in pairs})
    sources = {rank.suspect for rank, *_ in pairs}
    (peer, most), *others = peers.most_common()
    if others and others[0][1] == most:
        return cannot_tell(
            f"packets to {listed(peers)} were lost"
            + (", whose logs are missing" if not any(one in case.job.by_suspect for one in peers) else ""),
            peers,
            events,
        )
    if most == 1 and (peer not in case.job.by_suspect or peer in sources):
        return cannot_tell(
            f"packets between {listed(sources)} and {named(peer)} were lost"
            + ("" if peer in case.job.by_suspect else ", and the log of the latter is missing"),
            [peer, *sources],
            events,
        )
    return Cause(
        "likely",
        "does not answer to packets any more",
        (peer,),
        "EI0013",
        tuple(events),
        fix=f"see whether the process of {named(peer)} ended before; else `hccn_tool -i N -link_stat -g` on both servers",
        supports=(f"{listed(sources)} lost packets to it",),
    )


def _before(case: Case, rank: Rank, event: Event) -> bool:
    """Whether the rank waited in vain before its packets were lost."""
    waiting = case.waits.waiting[rank.suspect]
    return waiting.time is not None and event.time is not None and waiting.time < event.time


def detector(case: Case) -> Cause | None:
    """The pairs that HCCL's own detector names, if they have one end in common."""
    pairs = [
        (case.job.at_card(event.fact.source), case.job.at_card(event.fact.destination), event)
        for rank in case.job.ranks
        for event in rank.events
        if isinstance(event.fact, Unreachable)
    ]
    if not pairs:
        return None
    events = [event for *_, event in pairs]
    # The detector follows connections that lack: a destination that is itself a source is not the end.
    sources = {source for source, _, _ in pairs}
    ends = list(dict.fromkeys(destination for _, destination, _ in pairs if destination not in sources))
    if len(ends) != 1:
        both = list(dict.fromkeys(one for pair in pairs for one in pair[:2]))
        return cannot_tell(f"HCCL's detector finds no connection between {listed(both)}", ends or both, events)
    end = ends[0]
    if len({source for source, *_ in pairs}) == 1 and end not in case.job.by_suspect and end.rank is None:
        return cannot_tell(
            f"HCCL's detector names a broken connection to {named(end)}, whose log is missing", [end], events
        )
    return Cause(
        "likely",
        "cannot be connected to",
        (end,),
        "EI0006",
        tuple(events),
        fix=f"see whether the process of {named(end)} lives and called the operator; else check the network of its card",
        supports=("HCCL's own detector of broken connections names it",),
    )


def late(case: Case) -> Cause | None:
    """All ranks waited in vain, one of them began when the others had already given up."""
    waiting = [
        (time, rank, event)
        for rank in case.job.ranks
        if (event := case.waits.waiting.get(rank.suspect))
        and isinstance(event.fact, LINK_FACTS)
        and (time := case.clocks.corrected(rank.process.worker, event.time)) is not None
    ]
    if len(waiting) < 2 or len(waiting) != len(case.job.ranks) or not case.is_complete or case.waits.ends:
        return None
    waiting.sort(key=lambda one: one[0])
    timeout = _timeout(case)
    last, before = waiting[-1], waiting[-2]
    if last[0] - waiting[0][0] <= timeout + MARGIN or last[0] - before[0] <= MARGIN:
        return None
    seconds = last[0] - waiting[0][0]
    return Cause(
        "likely",
        f"came {seconds:.0f} s after the others",
        (last[1].suspect,),
        "EI0006",
        (last[2], waiting[0][2]),
        fix=f"see what held up {named(last[1].suspect)}, or set HCCL_CONNECT_TIMEOUT above {seconds:.0f} on all ranks",
        supports=(f"it gave up {seconds:.0f} s after the first rank, more than the time-out of {timeout:.0f} s",),
    )


def _timeout(case: Case) -> float:
    values = [
        float(event.fact.value)
        for rank in case.job.ranks
        for event in rank.events
        if isinstance(event.fact, Setting) and event.fact.name == "HCCL_CONNECT_TIMEOUT" and event.fact.value.isdigit()
    ]
    return median(values) if values else CONNECT_TIMEOUT


def chain(case: Case) -> Cause | None:
    """The rank at the end of all chains of waits."""
    ends = case.waits.ends
    if not ends:
        return None
    events = [edge.event for edge in case.waits.edges if edge.target in ends]
    code = next((edge.code for edge in case.waits.edges if edge.target in ends), None)
    if len(ends) > 1:
        return cannot_tell(
            f"the chains of waits end at {listed(sorted(ends, key=str))}"
            + (f"; {missing_logs(case.job)}" if case.job.silent else ""),
            sorted(ends, key=str),
            events,
        )
    (end,) = ends
    if any(not case.waits.reaches(source, end) for source in case.waits.targets):
        return cannot_tell(f"not all ranks wait for {named(end)}", [end], events)
    rank = case.job.by_suspect.get(end)
    quiet = [other for other in case.without_error if other.suspect != end]
    if rank is None:
        # A rank without a log may itself have waited for one of the others, unless all of them waited for it.
        direct = all(end in targets for targets in case.waits.targets.values()) and len(case.waits.targets) > 2
        if len(case.job.silent) > 1 or quiet or case.job.size is None or not direct:
            return cannot_tell(missing_logs(case.job) or f"the log of {named(end)} is missing", [end], events)
        kind, fix = "left no log, and all others wait for it", f"see whether {named(end)} was started, and why it ended"
    elif rank.is_cut or end in case.waits.waiting:
        return cannot_tell(f"the log of {named(end)} does not tell whom it waited for", [end], events)
    else:
        if case.job.silent:
            return cannot_tell(missing_logs(case.job), [end], events)
        kind = "never entered the operator that all others wait in"
        fix = f"look what the program of {named(end)} does: `py-spy dump --pid {rank.process.pid}` while it hangs"
    return Cause(
        "likely",
        kind,
        (end,),
        code,
        tuple(events),
        fix=fix,
        supports=(f"all chains of waits end there ({len(case.waits.targets)} ranks)",),
    )
