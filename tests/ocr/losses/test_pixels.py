"""Selection of the hardest pixels, against a sort, with enough pixels and with too few."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mindspore import Tensor

from hccl_kit.ocr.losses.pages import flat, hardest

pytestmark = pytest.mark.train


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 40), min_size=3, max_size=3))
def test_selects_the_hardest_pixels_and_ties(seed: int, wanted: list[int]) -> None:
    values = np.random.default_rng(seed).integers(0, 12, (3, 30)).astype(np.float32)
    found = hardest(Tensor(values), Tensor(np.array(wanted, np.float32))).asnumpy()
    for row, chosen, count in zip(values, found, wanted, strict=True):
        cut = np.sort(row)[::-1][min(max(count, 1), 30) - 1]
        np.testing.assert_array_equal(chosen, row >= cut)


def test_flat_gives_one_float32_row_per_image() -> None:
    assert flat(Tensor(np.zeros((2, 3, 4, 5), np.float16))).shape == (2, 60)
    assert str(flat(Tensor(np.zeros((2, 3), np.float16))).dtype) == "Float32"
