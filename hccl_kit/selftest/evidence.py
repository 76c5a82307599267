"""How sure it is that something is slow, on servers that other programs use too: a sign test.

Each pass measures a suspect beside links or ranks that are well, and compares values of the same seconds only. Load by
other programs makes a healthy one slow in a part p of the passes, and the healthy ones show p: slow s times of m, they
have p = (s + 1) / (m + 2), the rule of succession. The binomial tail with p is the chance that a healthy one is slow in
k or more of n passes. If that chance, times the number of those that are compared, is at most CHANCE, a suspect with k
of n is named. Until then it is measured again; if that does not help, the answer is that it cannot be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

from hccl_kit.selftest.faults import Fault
from hccl_kit.selftest.measured import Measured
from hccl_kit.selftest.quality import SLOW, judged_links, judged_ranks

CHANCE = 1e-5
"""The probability at which a healthy part is still named."""

_Ratios = Sequence[Sequence[float]]


class Weighed(NamedTuple):
    """The faults that are certain, and those that a busy machine may explain as well."""

    faults: tuple[Fault, ...]
    doubts: tuple[Fault, ...]


def weigh(
    faults: Sequence[Fault], measured: Measured, baseline: Measured | None = None, *, slow: float = SLOW
) -> Weighed:
    """Take the faults apart by what the passes prove. Only slowness is doubtful; losses and wrong results are not."""
    sure, doubts = [], []
    for fault in faults:
        likely, compared = _of_splits(measured), "more passes are needed"
        if fault.pairs or fault.kind == "slow-card":
            own, controls = _compared(fault, faults, measured, baseline)
            low, of_all = _slow_ones(controls, slow)
            share = (low + 1) / (of_all + 2)
            likely = max((chance(*_slow_ones([ratios], slow), share) for ratios in own if ratios), default=0.0)
            likely *= 1 + len(controls)
            compared = f"healthy ones were slow in {low} of {of_all} measurements"
        if fault.kind.startswith("slow") and likely > CHANCE:
            doubts.append(_doubt(fault, compared))
        else:
            sure.append(fault)
    return Weighed(tuple(sure), tuple(doubts))


def _of_splits(measured: Measured) -> float:
    """The chance that the two halves of one split are the fastest of four halves in every pass: 1/6 each time."""
    passes = max((len(one.bandwidths) for one in measured.splits), default=0)
    return len(measured.splits) * (1 / 6) ** passes


def chance(low: int, passes: int, share: float) -> float:
    """The probability that a healthy one is slow in `low` or more of the passes, if it is so in a `share` of all."""
    return sum(comb(passes, one) * share**one * (1 - share) ** (passes - one) for one in range(low, passes + 1))


def _slow_ones(rows: _Ratios, slow: float) -> tuple[int, int]:
    """How many of all ratios are slow, and the number of all."""
    return sum(ratio < slow for ratios in rows for ratio in ratios), sum(map(len, rows))


def _compared(
    fault: Fault, faults: Sequence[Fault], measured: Measured, baseline: Measured | None
) -> tuple[_Ratios, _Ratios]:
    """The ratios of what shows a fault, and of what is well."""
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
    """The fault as a question."""
    hint = "other programs use these servers or their network: run again when they are idle, or with a lower --slow"
    return fault._replace(message=f"cannot tell, the machine is busy: {fault.message}; {compared}", hint=hint)
