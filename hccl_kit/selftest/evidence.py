"""How good links and ranks are, and how certain it is that something is slow, on servers that other programs use too.

They are compared with the same one in a baseline, else with what most reach: links inside servers and links between
servers separately, because they are different hardware. In each pass, a value is divided by what most reach in that
pass. Then the median of these ratios over the passes is divided by what most medians reach, because load lowers all.

Each pass measures a suspect beside healthy links or ranks, and compares only values of the same seconds. Load by other
programs makes a healthy one slow in an unknown part of the passes. If the healthy ones were slow in s of m
measurements, the beta-binomial distribution with a uniform prior gives the probability that another healthy one is slow
in k or more of n passes. If that probability, times the number of those that are compared, is at most CHANCE, a suspect
with k of n is named. Until then it is measured again; if that does not help, the fault is reported as a doubt.

On a very busy machine half of the usual speed is not rare, while a bad cable has a fiftieth of it. So the same test
is made with several limits, and the chance of the best is multiplied by their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from statistics import median_high
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.selftest.faults import Fault, JudgedLink
from hccl_kit.selftest.measured import Compute, Link, Measured
from hccl_kit.selftest.rounds import Card, Names, Pair

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


CHANCE = 1e-5
"""A suspect is named if the probability that it is healthy and slow by chance is at most this."""

LIMITS = (1.0, 0.5, 0.25)
"""The limits of the tests, as fractions of `slow`."""

_Ratios = Sequence[Sequence[float]]


class Weighed(NamedTuple):
    """The faults that are certain, and those that a busy machine may explain as well."""

    faults: tuple[Fault, ...]
    doubts: tuple[Fault, ...]


def weigh(
    faults: Sequence[Fault], measured: Measured, baseline: Measured | None = None, *, slow: float = SLOW
) -> Weighed:
    """Separate certain faults from doubts. Only slowness can be doubtful; losses and wrong results are certain."""
    sure, doubts = [], []
    for fault in faults:
        likely, compared = _chance_of_splits(measured), Message("selftest.few-passes", "more passes are needed")
        if fault.pairs or fault.kind == "slow-card":
            suspected, controls = _compared(fault, faults, measured, baseline)
            likely = len(LIMITS) * min(_likely(suspected, controls, slow * limit) for limit in LIMITS)
            low, total = _count_slow(controls, slow)
            compared = Message(
                "selftest.busy", "healthy ones were slow in {low} of {total} measurements", low=low, total=total
            )
        if fault.kind.startswith("slow") and likely > CHANCE:
            doubts.append(_doubt(fault, compared))
        else:
            sure.append(fault)
    return Weighed(tuple(sure), tuple(doubts))


def _likely(suspected: _Ratios, controls: _Ratios, slow: float) -> float:
    """The chance that one of all is slow as often as `suspected` though all are healthy; 0 without passes."""
    known = _count_slow(controls, slow)
    alone = max((chance(*_count_slow([ratios], slow), *known) for ratios in suspected if ratios), default=0.0)
    return alone * (1 + len(controls))


def _chance_of_splits(measured: Measured) -> float:
    """The chance that the two halves of a split are the fastest of four halves in every pass, 1/6 each time, multiplied
    by the number of splits.
    """
    passes = max((len(split.bandwidths) for split in measured.splits), default=0)
    return len(measured.splits) * (1 / 6) ** passes


def chance(low: int, passes: int, healthy_low: int, total: int) -> float:
    """The probability that a healthy one is slow in `low` or more of `passes`, if others were slow in `healthy_low` of
    `total` measurements: the tail of the beta-binomial distribution with a uniform prior. A binomial distribution with
    the mean of the others would make rare tails too rare.
    """
    ways = sum(
        comb(healthy_low + slow, slow) * comb(total - healthy_low + passes - slow, passes - slow)
        for slow in range(low, passes + 1)
    )
    return ways / comb(total + passes + 1, passes)


def _count_slow(rows: _Ratios, slow: float) -> tuple[int, int]:
    """How many of all ratios are slow, and the number of all."""
    return sum(ratio < slow for ratios in rows for ratio in ratios), sum(map(len, rows))


def _compared(
    fault: Fault, faults: Sequence[Fault], measured: Measured, baseline: Measured | None
) -> tuple[_Ratios, _Ratios]:
    """The ratios of the links or ranks that show a fault, and of the healthy ones."""
    weak = {rank for other in faults if other.kind in ("lost", "stalls", "slow-card") for rank in other.ranks}
    if fault.kind == "slow-card":
        ranks = judged_ranks(measured, baseline)
        healthy = [rated.ratios for rank, rated in ranks.items() if rank not in weak]
        return [ranks[rank].ratios for rank in fault.ranks], healthy
    links = judged_links(measured, baseline)
    suspected = [judged for judged in links if judged.pair in fault.pairs]
    blamed = {pair for other in faults for pair in other.pairs}
    well = [judged for judged in links if judged.pair not in blamed and not weak.intersection(judged.pair)]
    controls = [judged.ratios for judged in well if judged.is_inside == suspected[0].is_inside]
    return [judged.ratios for judged in suspected], controls


def _doubt(fault: Fault, compared: Message) -> Fault:
    """The fault with a message that it is not certain."""
    message = Message(
        "selftest.uncertain",
        "uncertain, since the machine is busy: {fault}; {compared}",
        fault=fault.message,
        compared=compared,
    )
    hint = Message(
        "selftest.uncertain.fix",
        "other programs use these servers or their network: run again when they are idle, or with a lower --slow",
    )
    return fault._replace(message=message, hint=hint)
