"""How certain it is that something is slow, on servers that other programs use too.

Each pass measures a suspect beside healthy links or ranks, and compares only values of the same seconds. Load by other
programs makes a healthy one slow in an unknown part of the passes. If the healthy ones were slow in s of m
measurements, the beta-binomial distribution with a uniform prior gives the probability that another healthy one is slow
in k or more of n passes. If that probability, times the number of those that are compared, is at most CHANCE, a suspect
with k of n is named. Until then it is measured again; if that does not help, the fault is reported as a doubt.

On a very busy machine half of the usual speed is not rare, while a bad cable has a fiftieth of it. So the same test
is made with several limits, and the chance of the best is multiplied by their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.selftest.faults import Fault
from hccl_kit.selftest.measured import Measured
from hccl_kit.selftest.quality import SLOW, judged_links, judged_ranks

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
