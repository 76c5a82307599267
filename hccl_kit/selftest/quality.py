"""How good links and cards are, relative to a reference: the same one in a baseline, else what most reach.

Links inside servers and links between servers are compared separately, because they are different hardware. Passes are
compared in two steps. In each pass, a value is divided by what most reach in that pass. Then the median of these ratios
over the passes is divided by what most medians reach, because load lowers all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_high
from typing import NamedTuple

from hccl_kit.selftest.faults import Judged
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


def judged_links(measured: Measured, baseline: Measured | None = None) -> list[Judged]:
    """Every link with its quality."""
    names = Names(measured.cards)
    whole = link_ratios(measured.links, measured.cards, baseline)
    median = {one.pair: median_high(one.ratios or (whole[one.pair],)) for one in measured.links}
    judged = []
    for is_inside in (False, True):
        kind = [one for one in measured.links if names.is_inside(one.pair) == is_inside]
        usual = (not baseline and _common({one.pair: median[one.pair] for one in kind})) or 1.0
        for one in kind:
            ratios = tuple(ratio / usual for ratio in one.ratios)
            judged.append(Judged(one, median[one.pair] / usual, is_inside, ratios))
    return sorted(judged, key=lambda one: one.pair)


def link_ratios(links: Sequence[Link], cards: Sequence[Card], baseline: Measured | None) -> Mapping[Pair, float]:
    """The bandwidth of each link relative to its reference; 0 if it failed or its result was wrong."""
    names = Names(cards)
    known = _references(baseline) if baseline else {}
    found: dict[Pair, float] = {}
    for is_inside in (False, True):
        kind = [one for one in links if names.is_inside(one.pair) == is_inside]
        common = _common({one.pair: 0.0 if one.is_wrong else one.bandwidth or 0.0 for one in kind})
        for one in kind:
            reference = known.get(one.pair, common)
            usable = one.bandwidth is not None and not one.is_wrong and reference > 0
            found[one.pair] = min(_MOST, (one.bandwidth or 0.0) / reference) if usable else 0.0
    return found


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
    return {one.pair: one.bandwidth for one in baseline.links if one.bandwidth and not one.is_wrong}


def judged_ranks(measured: Measured, baseline: Measured | None = None) -> Mapping[int, Rated]:
    """The arithmetic and memory of each rank."""
    whole = compute_ratios(measured.compute, baseline)
    median = {one.rank: median_high(one.ratios or (whole[one.rank],)) for one in measured.compute}
    usual = (median and not baseline and median_high(median.values())) or 1.0
    return {
        one.rank: Rated(median[one.rank] / usual, tuple(ratio / usual for ratio in one.ratios))
        for one in measured.compute
    }


def compute_ratios(compute: Sequence[Compute], baseline: Measured | None) -> Mapping[int, float]:
    """The arithmetic and memory of each rank relative to its baseline, else to the upper median of all.

    Ranks of a server share its memory, so the ratio of memory counts double: half of the usual speed is as good as the
    whole speed of arithmetic.
    """
    before = {one.rank: one for one in baseline.compute} if baseline else {}
    parts = {one.rank: 1.0 for one in compute}
    for value, weight in (("gflops", 1), ("memory", 2)):
        common = median_high(getattr(one, value) for one in compute) if compute else 0.0
        for one in compute:
            reference = getattr(before[one.rank], value) if one.rank in before else common
            if reference > 0:
                parts[one.rank] = min(parts[one.rank], weight * getattr(one, value) / reference)
    return parts
