"""What is bad: a server, a card, its port, or a link, from what was measured. Pure functions.

A link is bad if it failed, gave a wrong result, or has less than a fraction of its reference (`quality`).

- A card whose links are all bad is bad itself, if one of its partners is fast with somebody else. The check of its
  arithmetic tells whether it is the card or its port.
- If good links join the servers to several groups, and the links between two groups are bad, the path is.
- A link is bad by itself if both of its ends are fast with somebody else.
- What cannot be told apart is not guessed: the message names both ends.

Laws: the order of links and ranks does not matter; without a baseline, nor does the unit of bandwidth. No rank
is named if all links of a kind are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.selftest.evidence import SLOW, judged_links, judged_ranks
from hccl_kit.selftest.faults import (
    Fault,
    JudgedLink,
    after_colon,
    bad_fabric,
    bad_link,
    bad_port,
    bad_uplink,
    failed_collective,
    slow_collective,
    uneven_halves,
)
from hccl_kit.selftest.measured import Collective, Loss, LostRank, Measured, Operator
from hccl_kit.selftest.rounds import Names

STALL = 0.05
"""A rank whose process is stopped for this part of the time is at fault."""
MIXED = 2
"""Slow halves with servers of both sides that prove a slow path between them: a single one may have another cause."""
LARGE = 1 << 20
"""Bytes from which a collective is compared with the baseline: below, latency and its noise dominate."""


def judge(measured: Measured, baseline: Measured | None = None, *, slow: float = SLOW) -> tuple[Fault, ...]:
    """The faults, the most certain first; empty if nothing is bad."""
    names = Names(measured.cards)
    lost = {loss.rank for loss in measured.lost}
    faults = [*lost_ranks(measured.lost, names)]
    stalls = {each.rank: each.stalled for each in measured.compute if each.stalled > STALL and each.rank not in lost}
    faults += [stalling(rank, part, names) for rank, part in sorted(stalls.items())]
    slow_cards = {
        rank: rated.quality for rank, rated in judged_ranks(measured, baseline).items() if rated.quality < slow
    }
    faults += [slow_card(rank, part, names) for rank, part in sorted(slow_cards.items()) if rank not in stalls]
    weak = stalls.keys() | slow_cards.keys()
    alive = [judged for judged in judged_links(measured, baseline) if not lost.intersection(judged.pair)]
    for is_inside in (False, True):
        kind = [judged for judged in alive if judged.is_inside == is_inside]
        faults += _faulty_links(kind, frozenset(weak), names, slow)
    return tuple(faults) or tuple(_uneven_splits(measured, slow)) or tuple(_bad_collectives(measured, baseline, slow))


def _faulty_links(links: Sequence[JudgedLink], weak: frozenset[int], names: Names, slow: float) -> list[Fault]:
    """The bad ports, the bad paths between groups of servers, then the bad links that they do not explain."""
    bad = [judged for judged in links if judged.quality < slow]
    if len(bad) == len(links) and len(bad) > 1:
        return [] if weak else [bad_fabric(bad)]
    suspects = _suspects(links, slow)
    explained = suspects | weak
    unexplained = [judged for judged in bad if not explained.intersection(judged.pair)]
    uplinks = list(_uplinks(links, unexplained, names, slow))
    crossing = {pair for fault in uplinks for pair in fault.pairs}
    single = [bad_link(judged, links, names, slow) for judged in unexplained if judged.pair not in crossing]
    return [*_ports(links, suspects - weak, names), *uplinks, *single]


def _uplinks(links: Sequence[JudgedLink], bad: Sequence[JudgedLink], names: Names, slow: float) -> Iterator[Fault]:
    """The bad links between groups of servers that are joined inside by good ones. One link is not a path: at least two
    servers of each group must have a bad one.
    """
    groups = names.joined([judged.pair for judged in links if judged.quality >= slow and not judged.is_inside])
    group_of = {server: place for place, group in enumerate(groups) for server in group}
    crossing: dict[tuple[int, ...], list[JudgedLink]] = {}
    for judged in bad:
        servers = map(names.server, judged.pair)
        places = tuple(sorted({group_of[server] for server in servers if server in group_of}))
        if len(places) == 2 and not judged.link.is_wrong:
            crossing.setdefault(places, []).append(judged)
    for places, between in sorted(crossing.items()):
        ends = {names.server(rank) for judged in between for rank in judged.pair}
        if all(len(ends.intersection(groups[place])) > 1 for place in places):
            yield bad_uplink([groups[place] for place in places], between)


def _suspects(links: Sequence[JudgedLink], slow: float) -> frozenset[int]:
    """Ranks that are bad with every partner, two at least, one of which is good with somebody else."""
    pairs = [judged.pair for judged in links]
    partners = grouped(chain.from_iterable(((a, b), (b, a)) for a, b in pairs))
    good = {rank for judged in links if judged.quality >= slow for rank in judged.pair}
    return frozenset(
        rank for rank, others in partners.items() if rank not in good and len(others) > 1 and good.intersection(others)
    )


def _ports(links: Sequence[JudgedLink], suspects: frozenset[int], names: Names) -> list[Fault]:
    """A fault for each suspect, or one for a server all of whose cards are suspects between the servers."""
    faults = []
    for ranks in names.groups(suspects) if links and not links[0].is_inside else [(rank,) for rank in sorted(suspects)]:
        bad = [judged for judged in links if set(ranks).intersection(judged.pair)]
        faults.append(bad_port(ranks, bad, names))
    return faults


def _uneven_splits(measured: Measured, slow: float) -> Iterator[Fault]:
    """A split whose halves are fast, while all halves of other splits with servers of both are slow, in each pass."""
    for split in measured.splits:
        first, second = split.halves
        mixed = [
            [bandwidths[side] for bandwidths in other.bandwidths]
            for other in measured.splits
            for side, half in enumerate(other.halves)
            if set(half).intersection(first) and set(half).intersection(second)
        ]
        if len(mixed) < MIXED:
            continue
        passes = zip(split.bandwidths, zip(*mixed, strict=False), strict=False)
        parts = [max(others) / min(pure) if min(pure) > slow * max(pure) else 1.0 for pure, others in passes]
        if parts and max(parts) < slow:
            ranks = tuple(sorted(card.rank for card in measured.cards))
            yield uneven_halves(split.halves, ranks, max(parts))


def _bad_collectives(measured: Measured, baseline: Measured | None, slow: float) -> Iterator[Fault]:
    """What is bad though no part is: failed or wrong collectives, and those below the baseline."""
    before = {_key(collective): collective.bus for collective in baseline.collectives} if baseline else {}
    ranks = tuple(sorted(card.rank for card in measured.cards))
    for collective in measured.collectives:
        bandwidth, earlier = collective.bus, before.get(_key(collective))
        if collective.problem:
            yield failed_collective(collective, ranks)
        elif earlier and bandwidth is not None and collective.size >= LARGE and bandwidth < slow * earlier:
            yield slow_collective(collective, bandwidth, bandwidth / earlier, ranks)


def _key(collective: Collective) -> tuple[Operator, int, int]:
    return collective.operator, collective.size, collective.ranks


def slow_card(rank: int, part: float, names: Names) -> Fault:
    """A rank computes slowly."""
    message = Message(
        "selftest.slow-card", "{rank} computes at {part:.0%} of the others' speed", rank=names.rank(rank), part=part
    )
    hint = Message(
        "selftest.slow-card.fix",
        "look at its temperature, clock and other processes: npu-smi info, npu-smi info -t common",
    )
    return Fault("slow-card", (rank,), message, hint)


def stalling(rank: int, part: float, names: Names) -> Fault:
    """The process of a rank was stopped."""
    message = Message(
        "selftest.stalls", "{rank} was stopped by a signal for {part:.0%} of the time", rank=names.rank(rank), part=part
    )
    hint = Message(
        "selftest.stalls.fix", "look for what sends it SIGSTOP: a debugger, a scheduler that suspends jobs, a person"
    )
    return Fault("stalls", (rank,), message, hint)


def lost_ranks(lost: Sequence[LostRank], names: Names) -> Iterator[Fault]:
    """One fault for a server that lost all of its ranks in the same way, otherwise one for each rank."""
    for how, (end, hint) in _LOSSES.items():
        details = {loss.rank: loss.detail for loss in lost if loss.how == how}
        for ranks in names.groups(frozenset(details)):
            detail = next((details[rank] for rank in ranks if details[rank]), "")
            message = Message(
                "selftest.lost",
                "{subject} {end}{reason}",
                subject=names.ranks(ranks),
                end=end,
                reason=after_colon(detail),
            )
            yield Fault("lost", ranks, message, hint)


_LOSSES: dict[Loss, tuple[Message, Message]] = {
    "unreachable": (
        Message("selftest.unreachable", "cannot be reached"),
        Message("selftest.unreachable.fix", "check the server and ssh to it"),
    ),
    "not started": (
        Message("selftest.not-started", "did not start"),
        Message("selftest.not-started.fix", "run the command there by hand to see why"),
    ),
    "dead": (
        Message("selftest.dead", "ended before the end of the test"),
        Message("selftest.dead.fix", "check dmesg of its server for what killed the process, then hccl-kit preflight"),
    ),
    "stopped": (
        Message("selftest.silent", "stopped responding"),
        Message(
            "selftest.silent.fix",
            "look at the process and card of that rank: a stopped process, a hung driver or an overloaded server",
        ),
    ),
    "no result": (
        Message("selftest.without-result", "gave no result"),
        Message(
            "selftest.without-result.fix", "look at its process and card; all servers need the same version of hccl-kit"
        ),
    ),
}
"""How a rank is lost, and the next step; in the order of the report."""
