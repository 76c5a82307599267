"""How good links and cards are, relative to a reference: the same one in a baseline, else what most reach.

Links inside servers and links between servers are compared separately, because they are different hardware. Passes are
compared in two steps. In each pass, a value is divided by what most reach in that pass. Then the median of these ratios
over the passes is divided by what most medians reach, because load lowers all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_high
from typing import NamedTuple

from hccl_kit.selftest.faults import JudgedLink
from hccl_kit.selftest.measured import Compute, Link, Measured
from hccl_kit.selftest.names import Names
from hccl_kit.selftest.rounds import Card, Pair

SLOW = 0.5
"""Below this fraction of its reference, something is slow."""
_MOST = 1e12
"""The highest ratio; a reference of nearly zero in a baseline would give a higher one."""


class Rated(NamedTuple):
    """The arithmetic of a rank relative to its reference, and the same in each pass."""

    quality: float
    ratios: tuple[float, ...]


def judged_links(measured: Measured, baseline: Measured | None = None) -> list[JudgedLink]:
    """Every link with its quality."""
    names = Names(measured.cards)
    whole = link_ratios(measured.links, measured.cards, baseline)
    median = {link.pair: median_high(link.ratios or (whole[link.pair],)) for link in measured.links}
    judged = []
    for is_inside in (False, True):
        kind = [link for link in measured.links if names.is_inside(link.pair) == is_inside]
        usual = (not baseline and _common({link.pair: median[link.pair] for link in kind})) or 1.0
        for link in kind:
            ratios = tuple(ratio / usual for ratio in link.ratios)
            judged.append(JudgedLink(link, median[link.pair] / usual, is_inside, ratios))
    return sorted(judged, key=lambda each: each.pair)


def link_ratios(links: Sequence[Link], cards: Sequence[Card], baseline: Measured | None) -> Mapping[Pair, float]:
    """The bandwidth of each link relative to its reference; 0 if it failed or its result was wrong."""
    names = Names(cards)
    known = _references(baseline) if baseline else {}
    ratios: dict[Pair, float] = {}
    for is_inside in (False, True):
        kind = [link for link in links if names.is_inside(link.pair) == is_inside]
        common = _common({link.pair: 0.0 if link.is_wrong else link.bandwidth or 0.0 for link in kind})
        for link in kind:
            reference = known.get(link.pair, common)
            usable = link.bandwidth is not None and not link.is_wrong and reference > 0
            ratios[link.pair] = min(_MOST, (link.bandwidth or 0.0) / reference) if usable else 0.0
    return ratios


def _common(values: Mapping[Pair, float]) -> float:
    """What most ranks reach with their best partner: one slow rank of three spoils two of three links, but few bests.

    The upper median, so that two healthy ranks outvote two bad ones.
    """
    best: dict[int, float] = {}
    for pair, value in values.items():
        for rank in pair:
            best[rank] = max(best.get(rank, 0.0), value)
    return median_high(best.values()) if best else 0.0


def _references(baseline: Measured) -> Mapping[Pair, float]:
    return {link.pair: link.bandwidth for link in baseline.links if link.bandwidth and not link.is_wrong}


def judged_ranks(measured: Measured, baseline: Measured | None = None) -> Mapping[int, Rated]:
    """The arithmetic and memory of each rank."""
    whole = compute_ratios(measured.compute, baseline)
    median = {each.rank: median_high(each.ratios or (whole[each.rank],)) for each in measured.compute}
    usual = (median and not baseline and median_high(median.values())) or 1.0
    return {
        each.rank: Rated(median[each.rank] / usual, tuple(ratio / usual for ratio in each.ratios))
        for each in measured.compute
    }


def compute_ratios(compute: Sequence[Compute], baseline: Measured | None) -> Mapping[int, float]:
    """The arithmetic and memory of each rank relative to its baseline, else to the upper median of all.

    Ranks of a server share its memory, so the ratio of memory counts double: half of the usual speed is as good as the
    whole speed of arithmetic.
    """
    before = {each.rank: each for each in baseline.compute} if baseline else {}
    parts = {each.rank: 1.0 for each in compute}
    for value, weight in (("gflops", 1), ("memory", 2)):
        common = median_high(getattr(each, value) for each in compute) if compute else 0.0
        for each in compute:
            reference = getattr(before[each.rank], value) if each.rank in before else common
            if reference > 0:
                parts[each.rank] = min(parts[each.rank], weight * getattr(each, value) / reference)
    return parts
