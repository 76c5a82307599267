"""The expected results of ranks, against the definitions of the collectives over all ranks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.selftest.measured import OPERATORS, Operator
from hccl_kit.selftest.ranks.measure import count_of, expected, source
from hccl_kit.selftest.ranks.work import ITEM

pytestmark = pytest.mark.train  # includes numpy


def all_at_once(operator: Operator, given_by: list[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """The definition of each operator."""
    ranks = len(given_by)
    if operator == "all_gather":
        return [np.concatenate(given_by)] * ranks
    if operator == "broadcast":
        return [given_by[0]] * ranks
    if operator == "all_reduce":
        return [np.sum(given_by, axis=0)] * ranks
    parts = [np.split(one, ranks) for one in given_by]
    if operator == "reduce_scatter":
        return [np.sum([part[place] for part in parts], axis=0) for place in range(ranks)]
    return [np.concatenate([part[place] for part in parts]) for place in range(ranks)]


@given(operator=st.sampled_from(OPERATORS), ranks=st.integers(1, 9), size=st.integers(1, 5000))
def test_expected_results_match_the_definition(operator: Operator, ranks: int, size: int) -> None:
    count = count_of(size, ranks)
    results = all_at_once(operator, [source(operator, place, ranks, count) for place in range(ranks)])
    for place, result in enumerate(results):
        wanted = expected(operator, place, ranks, count)
        assert wanted.dtype == np.float32
        np.testing.assert_array_equal(result, wanted)


@given(ranks=st.integers(1, 1000), size=st.integers(1, 1 << 30))
def test_the_array_has_about_the_requested_size_and_can_be_split(ranks: int, size: int) -> None:
    count = count_of(size, ranks)
    assert count % ranks == 0
    assert count >= ranks
    assert abs(count * ITEM - size) <= max(ranks * ITEM, size)


@pytest.mark.parametrize("ranks", [2, 3, 4096])
def test_a_sum_of_all_ranks_is_exact(ranks: int) -> None:
    """Every partial sum is an integer below 2**24, so float32 represents it exactly in any order."""
    assert expected("all_reduce", 0, ranks, ranks * 13).max() < 2**24


@pytest.mark.parametrize("operator", OPERATORS)
def test_swapped_blocks_and_ranks_are_detected(operator: Operator) -> None:
    count = count_of(64 * ITEM * 4, 4)
    wanted = expected(operator, 1, 4, count)
    assert not np.array_equal(np.roll(wanted, 16), wanted)
    if operator in ("reduce_scatter", "all_to_all"):
        assert not np.array_equal(expected(operator, 2, 4, count), wanted)
