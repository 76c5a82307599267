"""Who is bad: a server, a card, its port, or a link, from what was measured. Pure functions.

A link is bad if it failed, gave a wrong result, or has less than a fraction of its reference: of the same link in a
baseline, else of what most cards reach with their best partner. Links inside servers and between servers are judged
apart, since they are made of different hardware.

- A card whose links are all bad is bad itself, if one of its partners is fast with somebody else. The check of its
  arithmetic tells whether it is the card or its port.
- A link is bad by itself if both of its ends are fast with somebody else.
- What cannot be told apart is not guessed: the message names both ends.

Laws: the order of links and ranks does not matter; without a baseline, nor does the unit of bandwidth. Nobody is named
if all links of a kind are alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from hccl_kit.selftest.faults import (
    Fault,
    Judged,
    bad_fabric,
    bad_link,
    bad_port,
    failed_collective,
    lost_ranks,
    slow_card,
    stalling,
)
from hccl_kit.selftest.measured import Link, Measured
from hccl_kit.selftest.names import Names
from hccl_kit.selftest.rounds import Pair

SLOW = 0.5
"""Below this fraction of its reference, something is slow."""
STALL = 0.1
"""A rank that stands still for this part of the time, more than the others, is at fault."""
LARGE = 1 << 20
"""Bytes from which a collective is compared with the baseline: below, latency and its noise dominate."""


def judge(measured: Measured, baseline: Measured | None = None, *, slow: float = SLOW) -> tuple[Fault, ...]:
    """The faults, the most certain first; empty if nothing is bad."""
    names = Names(measured.cards)
    lost = {one.rank for one in measured.lost}
    faults = [*lost_ranks(measured.lost, names)]
    stalls = {rank: part for rank, part in _stalling(measured).items() if part > STALL}
    faults += [stalling(rank, part, names) for rank, part in sorted(stalls.items())]
    slow_cards = {rank: part for rank, part in _computing(measured, baseline).items() if part < slow}
    faults += [slow_card(rank, part, names) for rank, part in sorted(slow_cards.items()) if rank not in stalls]
    weak = stalls.keys() | slow_cards.keys()
    alive = [one for one in measured.links if not lost.intersection(one.pair)]
    known = _references(baseline) if baseline else {}
    for is_inside in (False, True):
        kind = [one for one in alive if names.is_inside(one.pair) == is_inside]
        faults += _of_links(_judged(kind, known, is_inside=is_inside), frozenset(weak), names, slow)
    return tuple(faults) or tuple(_of_collectives(measured, baseline, slow))


def qualities(measured: Measured, baseline: Measured | None = None) -> Mapping[Pair, float]:
    """The bandwidth of each pair relative to its reference; 0 if it failed or its result was wrong."""
    names = Names(measured.cards)
    known = _references(baseline) if baseline else {}
    found: dict[Pair, float] = {}
    for is_inside in (False, True):
        kind = [one for one in measured.links if names.is_inside(one.pair) == is_inside]
        found |= {one.pair: one.quality for one in _judged(kind, known, is_inside=is_inside)}
    return found


def _judged(links: Sequence[Link], known: Mapping[Pair, float], *, is_inside: bool) -> list[Judged]:
    common = _common(links)
    judged = []
    for one in links:
        reference = known.get(one.pair, common)
        usable = one.bandwidth is not None and not one.is_wrong and reference > 0
        judged.append(Judged(one, (one.bandwidth or 0.0) / reference if usable else 0.0, is_inside))
    return judged


def _common(links: Iterable[Link]) -> float:
    """What most ranks reach with their best partner: one slow rank of three spoils two of three links, but few bests.

    The upper median, so that two healthy ranks outvote two bad ones.
    """
    best: dict[int, float] = {}
    for one in links:
        for rank in one.pair:
            best[rank] = max(best.get(rank, 0.0), 0.0 if one.is_wrong else one.bandwidth or 0.0)
    ordered = sorted(best.values())
    return ordered[len(ordered) // 2] if ordered else 0.0


def _references(baseline: Measured) -> Mapping[Pair, float]:
    return {one.pair: one.bandwidth for one in baseline.links if one.bandwidth and not one.is_wrong}


def _computing(measured: Measured, baseline: Measured | None) -> Mapping[int, float]:
    """The arithmetic and memory of each rank relative to its baseline, else to the upper median of all.

    Ranks of a server share its memory, so half the speed of memory counts as little as all of that of arithmetic.
    """
    before = {one.rank: one for one in baseline.compute} if baseline else {}
    parts: dict[int, float] = {}
    for value, weight in (("gflops", 1), ("memory", 2)):
        ordered = sorted(getattr(one, value) for one in measured.compute)
        for one in measured.compute:
            reference = getattr(before[one.rank], value) if one.rank in before else ordered[len(ordered) // 2]
            if reference > 0:
                parts[one.rank] = min(parts.get(one.rank, 1.0), weight * getattr(one, value) / reference)
    return parts


def _stalling(measured: Measured) -> Mapping[int, float]:
    """The part of the time in which each rank stood still, beyond the lower median of all."""
    ordered = sorted(one.stalled for one in measured.compute)
    return {one.rank: one.stalled - ordered[(len(ordered) - 1) // 2] for one in measured.compute}


def _of_links(judged: Sequence[Judged], weak: frozenset[int], names: Names, slow: float) -> list[Fault]:
    """The bad ports, then the bad links that they do not explain."""
    bad = [one for one in judged if one.quality < slow]
    if len(bad) == len(judged) and len(bad) > 1:
        return [] if weak else [bad_fabric(bad)]
    suspects = _suspects(judged, slow)
    explained = suspects | weak
    faults = _ports(judged, suspects - weak, names)
    return faults + [bad_link(one, judged, names, slow) for one in bad if not explained.intersection(one.pair)]


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
