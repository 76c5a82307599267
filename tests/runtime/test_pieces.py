"""Arrays cut into pieces: every value once, in order, and no piece but the last one is shorter."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.runtime.pieces import pieces


@given(st.lists(st.integers(0, 40)), st.integers(1, 30))
def test_every_value_is_in_one_piece(counts: list[int], size: int) -> None:
    numbers = np.arange(sum(counts), dtype=np.float32)
    values = np.split(numbers, np.cumsum(counts)[:-1]) if counts else []
    results = [np.empty_like(value) for value in values]
    seen, lengths = [], []
    for piece in pieces(values, results, size):
        packed = np.full(size, np.nan, np.float32)
        for place, part, into in piece:
            packed[place] = part
            into[...] = part
        assert all(one[0].stop == other[0].start for one, other in pairwise(piece))
        lengths.append(piece[-1][0].stop)
        seen.append(packed[: lengths[-1]])
    assert all(length == size for length in lengths[:-1])
    np.testing.assert_array_equal(np.concatenate([np.empty(0), *seen]), numbers)
    np.testing.assert_array_equal(np.concatenate([np.empty(0), *results]), numbers)


def test_results_of_any_shape_are_written_in_place() -> None:
    given = [np.arange(6, dtype=np.float32).reshape(2, 3), np.array(7, np.float32)]
    results = [np.zeros((2, 3), np.float32), np.zeros((), np.float32)]
    for piece in pieces(given, results, 4):
        for _, part, into in piece:
            np.multiply(part, 2, out=into)
    np.testing.assert_array_equal(results[0], 2 * given[0])
    assert results[1] == 14
