"""What a selftest has measured. All bandwidths are in GB/s (10**9 bytes).

The bandwidths of a collective are by the formulas of doc/PERFORMANCE.md of NVIDIA's nccl-tests. Its size is that of the
whole array: what a rank holds after an all-gather, and before a reduce-scatter or all-to-all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hccl_kit.selftest.rounds import Card, Pair

Operator = Literal["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"]

GB = 1e9
_FACTORS: Mapping[Operator, tuple[int, bool]] = {
    "all_reduce": (2, True),
    "all_gather": (1, True),
    "reduce_scatter": (1, True),
    "broadcast": (1, False),
    "all_to_all": (1, True),
}
"""How often each byte crosses a link, and whether 1/n of the array stays on its rank."""
OPERATORS: tuple[Operator, ...] = tuple(_FACTORS)


def algorithm_bandwidth(size: int, seconds: float) -> float:
    """GB/s of a collective over `size` bytes; `seconds` must be above 0."""
    return size / seconds / GB


def bus_factor(operator: Operator, ranks: int) -> float:
    """The bus bandwidth relative to the algorithm bandwidth; 0 for one rank, which has no partner."""
    times, is_shared = _FACTORS[operator]
    if ranks == 1:
        return 0.0
    return times * (ranks - 1) / ranks if is_shared else float(times)


def bus_bandwidth(operator: Operator, ranks: int, size: int, seconds: float) -> float:
    """GB/s that do not depend on the number of ranks, comparable with the peak of the hardware."""
    return algorithm_bandwidth(size, seconds) * bus_factor(operator, ranks)


Loss = Literal["dead", "stopped", "unreachable", "not started", "no result"]


@dataclass(frozen=True, slots=True)
class Collective:
    """One operator with one size over all ranks; `seconds` of one call is None if it did not come to an end.

    `problem`: why there is no time, or that the result is wrong; empty if all is well.
    """

    operator: Operator
    size: int
    ranks: int
    seconds: float | None
    problem: str = ""

    @property
    def algorithm(self) -> float | None:
        """The algorithm bandwidth."""
        return None if self.seconds is None else algorithm_bandwidth(self.size, self.seconds)

    @property
    def bus(self) -> float | None:
        """The bus bandwidth."""
        return None if self.seconds is None else bus_bandwidth(self.operator, self.ranks, self.size, self.seconds)


@dataclass(frozen=True, slots=True)
class Link:
    """A pair of ranks that exchanged data; `bandwidth` is None if they could not, `is_wrong`: with a wrong result.

    The bandwidth is the best of all passes; `ratios` has an entry for each pass: the bandwidth then, relative to that
    of most ranks in the same pass, or to the baseline.
    """

    pair: Pair
    bandwidth: float | None
    is_wrong: bool = False
    problem: str = ""
    ratios: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Compute:
    """The speed of one rank without the network: a product of matrices in GFLOP/s, and copies of memory in GB/s.

    Both are the best of all passes, with `ratios` as those of a link. `stalled`: the part of the test in which its
    process was stopped by a signal.
    """

    rank: int
    gflops: float
    memory: float
    stalled: float = 0.0
    ratios: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Split:
    """The servers in two halves, each of which did an all-reduce of its own at the same time as the other.

    `bandwidths` has the bus bandwidths of both halves in each pass, 0 if it failed.
    """

    halves: tuple[tuple[str, ...], tuple[str, ...]]
    bandwidths: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class LostRank:
    """A rank that did not take part to the end: how it was lost, and the reason."""

    rank: int
    how: Loss
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of one run. `skipped` are operators that the framework does not have on this device."""

    backend: str
    cards: tuple[Card, ...]
    collectives: tuple[Collective, ...] = ()
    links: tuple[Link, ...] = ()
    compute: tuple[Compute, ...] = ()
    splits: tuple[Split, ...] = ()
    lost: tuple[LostRank, ...] = ()
    skipped: tuple[Operator, ...] = ()
