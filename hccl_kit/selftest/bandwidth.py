"""Algorithm and bus bandwidth of a collective, by the published formulas of nccl-tests.

Source: doc/PERFORMANCE.md of NVIDIA's nccl-tests. S is the size of the whole array: what a rank holds after an
all-gather, and before a reduce-scatter or all-to-all. A GB has 10**9 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

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
