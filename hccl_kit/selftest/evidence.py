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
        likely, compared = _of_splits(measured), "more passes are needed"
        if fault.pairs or fault.kind == "slow-card":
            own, controls = _compared(fault, faults, measured, baseline)
            likely = len(LIMITS) * min(_likely(own, controls, slow * limit) for limit in LIMITS)
            low, of_all = _slow_ones(controls, slow)
            compared = f"healthy ones were slow in {low} of {of_all} measurements"
        if fault.kind.startswith("slow") and likely > CHANCE:
            doubts.append(_doubt(fault, compared))
        else:
            sure.append(fault)
    return Weighed(tuple(sure), tuple(doubts))


def _likely(own: _Ratios, controls: _Ratios, slow: float) -> float:
    """The chance that one of those compared is slow as often as `own` though all are healthy; 0 without passes."""
    known = _slow_ones(controls, slow)
    alone = max((chance(*_slow_ones([ratios], slow), *known) for ratios in own if ratios), default=0.0)
    return alone * (1 + len(controls))


def _of_splits(measured: Measured) -> float:
    """The chance that the two halves of a split are the fastest of four halves in every pass, 1/6 each time, multiplied
    by the number of splits.
    """
    passes = max((len(one.bandwidths) for one in measured.splits), default=0)
    return len(measured.splits) * (1 / 6) ** passes


def chance(low: int, passes: int, healthy_low: int, of_all: int) -> float:
    """The probability that a healthy one is slow in `low` or more of `passes`, if others were slow in `healthy_low` of
    `of_all` measurements: the tail of the beta-binomial distribution with a uniform prior. A binomial distribution with
    the mean of the others would make rare tails too rare.
    """
    ways = sum(
        comb(healthy_low + one, one) * comb(of_all - healthy_low + passes - one, passes - one)
        for one in range(low, passes + 1)
    )
    return ways / comb(of_all + passes + 1, passes)


def _slow_ones(rows: _Ratios, slow: float) -> tuple[int, int]:
    """How many of all ratios are slow, and the number of all."""
    return sum(ratio < slow for ratios in rows for ratio in ratios), sum(map(len, rows))


def _compared(
    fault: Fault, faults: Sequence[Fault], measured: Measured, baseline: Measured | None
) -> tuple[_Ratios, _Ratios]:
    """The ratios of the links or ranks that show a fault, and of the healthy ones."""
    weak = {rank for one in faults if one.kind in ("lost", "stalls", "slow-card") for rank in one.ranks}
    if fault.kind == "slow-card":
        ranks = judged_ranks(measured, baseline)
        return [ranks[rank].ratios for rank in fault.ranks], [one.ratios for r, one in ranks.items() if r not in weak]
    links = judged_links(measured, baseline)
    own = [one for one in links if one.pair in fault.pairs]
    blamed = {pair for one in faults for pair in one.pairs}
    well = [one for one in links if one.pair not in blamed and not weak.intersection(one.pair)]
    return [one.ratios for one in own], [one.ratios for one in well if one.is_inside == own[0].is_inside]


def _doubt(fault: Fault, compared: str) -> Fault:
    """The fault with a message that it is not certain."""
    hint = "other programs use these servers or their network: run again when they are idle, or with a lower --slow"
    return fault._replace(message=f"uncertain, since the machine is busy: {fault.message}; {compared}", hint=hint)
