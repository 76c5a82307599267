"""The formulas against published results: doc/PERFORMANCE.md of nccl-tests, and its outputs published by users."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.selftest.measured import OPERATORS, Operator, algorithm_bandwidth, bus_bandwidth, bus_factor


@pytest.mark.parametrize(
    ("operator", "ranks", "size", "microseconds", "algorithm", "bus"),
    [
        ("all_reduce", 8, 1073741824, 13867, 77.43, 135.50),  # 8 V100
        ("all_reduce", 16, 1073741824, 11774, 91.20, 170.99),  # 2 servers with 8 A100 each
        ("all_reduce", 16, 10737418240, 111812, 96.03, 180.06),
        ("all_reduce", 2, 2147483648, 756857, 2.84, 2.84),
        ("all_gather", 2, 17179869184, 387603, 44.32, 22.16),
        ("all_to_all", 16, 8589934592, 42637, 201.47, 188.88),
    ],
)
def test_bandwidths_match_published_rows(
    operator: Operator, ranks: int, size: int, microseconds: float, algorithm: float, bus: float
) -> None:
    assert algorithm_bandwidth(size, microseconds / 1e6) == pytest.approx(algorithm, abs=0.006)
    assert bus_bandwidth(operator, ranks, size, microseconds / 1e6) == pytest.approx(bus, abs=0.011)


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_single_rank_has_no_bus_bandwidth(operator: Operator) -> None:
    assert bus_factor(operator, 1) == 0


@given(
    operator=st.sampled_from(OPERATORS),
    ranks=st.integers(2, 4096),
    size=st.integers(1, 1 << 40),
    peak=st.floats(0.01, 1000),
)
def test_the_bus_bandwidth_of_a_perfect_network_is_its_peak(
    operator: Operator, ranks: int, size: int, peak: float
) -> None:
    """The document derives the factors from the minimum time for links of bandwidth B."""
    transfers = {"all_reduce": 2 * (ranks - 1), "broadcast": ranks}.get(operator, ranks - 1)
    seconds = size * transfers / (ranks * peak * 1e9)
    assert bus_bandwidth(operator, ranks, size, seconds) == pytest.approx(peak)
