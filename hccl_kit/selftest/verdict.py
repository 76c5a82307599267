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

from hccl_kit.selftest.faults import (
    Fault,
    Judged,
    bad_fabric,
    bad_link,
    bad_port,
    bad_uplink,
    failed_collective,
    lost_ranks,
    slow_card,
    stalling,
    uneven_halves,
)
from hccl_kit.selftest.measured import Measured
from hccl_kit.selftest.names import Names
from hccl_kit.selftest.quality import SLOW, judged_links, judged_ranks

STALL = 0.05
"""A rank whose process is stopped for this part of the time is at fault."""
MIXED = 2
"""Slow halves with servers of both sides that prove a slow path between them: a single one may have another cause."""
LARGE = 1 << 20
"""Bytes from which a collective is compared with the baseline: below, latency and its noise dominate."""


def judge(measured: Measured, baseline: Measured | None = None, *, slow: float = SLOW) -> tuple[Fault, ...]:
    """The faults, the most certain first; empty if nothing is bad."""
    names = Names(measured.cards)
    lost = {one.rank for one in measured.lost}
    faults = [*lost_ranks(measured.lost, names)]
    stalls = {one.rank: one.stalled for one in measured.compute if one.stalled > STALL and one.rank not in lost}
    faults += [stalling(rank, part, names) for rank, part in sorted(stalls.items())]
    slow_cards = {rank: one.quality for rank, one in judged_ranks(measured, baseline).items() if one.quality < slow}
    faults += [slow_card(rank, part, names) for rank, part in sorted(slow_cards.items()) if rank not in stalls]
    weak = stalls.keys() | slow_cards.keys()
    alive = [one for one in judged_links(measured, baseline) if not lost.intersection(one.pair)]
    for is_inside in (False, True):
        kind = [one for one in alive if one.is_inside == is_inside]
        faults += _of_links(kind, frozenset(weak), names, slow)
    return tuple(faults) or tuple(_of_splits(measured, slow)) or tuple(_of_collectives(measured, baseline, slow))


def _of_links(judged: Sequence[Judged], weak: frozenset[int], names: Names, slow: float) -> list[Fault]:
    """The bad ports, the bad paths between groups of servers, then the bad links that they do not explain."""
    bad = [one for one in judged if one.quality < slow]
    if len(bad) == len(judged) and len(bad) > 1:
        return [] if weak else [bad_fabric(bad)]
    suspects = _suspects(judged, slow)
    explained = suspects | weak
    open_links = [one for one in bad if not explained.intersection(one.pair)]
    uplinks = list(_uplinks(judged, open_links, names, slow))
    crossing = {pair for fault in uplinks for pair in fault.pairs}
    links = [bad_link(one, judged, names, slow) for one in open_links if one.pair not in crossing]
    return [*_ports(judged, suspects - weak, names), *uplinks, *links]


def _uplinks(judged: Sequence[Judged], bad: Sequence[Judged], names: Names, slow: float) -> Iterator[Fault]:
    """The bad links between groups of servers that are joined inside by good ones. One link is not a path: at least two
    servers of each group must have a bad one.
    """
    groups = names.joined([one.pair for one in judged if one.quality >= slow and not one.is_inside])
    group_of = {server: place for place, group in enumerate(groups) for server in group}
    crossing: dict[tuple[int, ...], list[Judged]] = {}
    for one in bad:
        places = tuple(sorted({group_of[server] for server in map(names.server, one.pair) if server in group_of}))
        if len(places) == 2 and not one.link.is_wrong:
            crossing.setdefault(places, []).append(one)
    for places, links in sorted(crossing.items()):
        ends = {names.server(rank) for one in links for rank in one.pair}
        if all(len(ends.intersection(groups[place])) > 1 for place in places):
            yield bad_uplink([groups[place] for place in places], links)


def _suspects(judged: Sequence[Judged], slow: float) -> frozenset[int]:
    """Ranks that are bad with every partner, two at least, one of which is good with somebody else."""
    partners: dict[int, list[int]] = {}
    good = set()
    for one in judged:
        a, b = one.pair
        partners.setdefault(a, []).append(b)
        partners.setdefault(b, []).append(a)
        if one.quality >= slow:
            good |= {a, b}
    return frozenset(
        rank for rank, others in partners.items() if rank not in good and len(others) > 1 and good.intersection(others)
    )


def _ports(judged: Sequence[Judged], suspects: frozenset[int], names: Names) -> list[Fault]:
    """A fault for each suspect, or one for a server all of whose cards are suspects between the servers."""
    faults = []
    for ranks in (
        names.groups(suspects) if judged and not judged[0].is_inside else [(rank,) for rank in sorted(suspects)]
    ):
        own = [one for one in judged if set(ranks).intersection(one.pair)]
        faults.append(bad_port(ranks, own, names))
    return faults


def _of_splits(measured: Measured, slow: float) -> Iterator[Fault]:
    """A split whose halves are fast, while all halves of other splits with servers of both are slow, in each pass."""
    for split in measured.splits:
        first, second = split.halves
        mixed = [
            [found[side] for found in other.bandwidths]
            for other in measured.splits
            for side, half in enumerate(other.halves)
            if set(half).intersection(first) and set(half).intersection(second)
        ]
        if len(mixed) < MIXED:
            continue
        passes = zip(split.bandwidths, zip(*mixed, strict=False), strict=False)
        parts = [max(others) / min(own) if min(own) > slow * max(own) else 1.0 for own, others in passes]
        if parts and max(parts) < slow:
            ranks = tuple(sorted(card.rank for card in measured.cards))
            yield uneven_halves(split.halves, ranks, max(parts))


def _of_collectives(measured: Measured, baseline: Measured | None, slow: float) -> Iterator[Fault]:
    """What is bad though no part is: failed or wrong collectives, and those below the baseline."""
    before = {(one.operator, one.size, one.ranks): one for one in baseline.collectives} if baseline else {}
    ranks = tuple(sorted(card.rank for card in measured.cards))
    for one in measured.collectives:
        if one.problem:
            yield failed_collective(one, ranks)
            continue
        old = before.get((one.operator, one.size, one.ranks))
        if old and old.bus and one.bus is not None and one.size >= LARGE and one.bus < slow * old.bus:
            message = (
                f"{one.operator} of {one.size} bytes has {one.bus:.3g} GB/s, {one.bus / old.bus:.0%} of the baseline"
            )
            hint = (
                "all pairs are as before: check settings that only a whole job has, such as HCCL_ALGO and the topology"
            )
            yield Fault("collective", ranks, message, hint)
