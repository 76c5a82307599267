"""Bilinear enlargement: against OpenCV and numpy, and its properties."""

import cv2
import mindspore as ms
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.ocr.models.bilinear import CORNERS, EDGES, ORIGIN, bilinear, weights

pytestmark = pytest.mark.train


def maps(shape: tuple[int, int, int, int] = (2, 3, 5, 7)) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@given(st.integers(1, 40), st.integers(1, 90), st.sampled_from([EDGES, CORNERS, ORIGIN]))
def test_each_value_is_a_weighted_mean(before: int, after: int, keeps: str) -> None:
    table = weights(before, after, keeps)
    assert table.shape == (before, after)
    assert (table >= 0).all()
    np.testing.assert_allclose(table.sum(axis=0), 1, rtol=1e-6)


@given(st.integers(1, 40), st.sampled_from([EDGES, CORNERS, ORIGIN]))
def test_the_same_length_changes_nothing(length: int, keeps: str) -> None:
    np.testing.assert_array_equal(weights(length, length, keeps), np.eye(length, dtype=np.float32))


@pytest.mark.parametrize("size", [(10, 14), (20, 21), (5, 7), (13, 30)])
def test_edges_match_opencv(size: tuple[int, int]) -> None:
    found = bilinear(Tensor(maps()), *size, keeps=EDGES).asnumpy()
    for one, large in zip(maps().reshape(-1, 5, 7), found.reshape(-1, *size), strict=True):
        np.testing.assert_allclose(large, cv2.resize(one, size[::-1]), atol=1e-5)


def test_align_corners_keeps_the_corners() -> None:
    found = bilinear(Tensor(maps()), 9, 13, keeps=CORNERS).asnumpy()
    np.testing.assert_allclose(found[:, :, ::2, ::2], maps(), atol=1e-6)
    np.testing.assert_allclose(found[:, :, 0, 1], (maps()[:, :, 0, 0] + maps()[:, :, 0, 1]) / 2, atol=1e-6)


def test_the_origin_is_kept() -> None:
    found = bilinear(Tensor(maps()), 10, 14, keeps=ORIGIN).asnumpy()
    np.testing.assert_allclose(found[:, :, ::2, ::2], maps(), atol=1e-6)
    np.testing.assert_allclose(found[:, :, -1, -1], maps()[:, :, -1, -1], atol=1e-6)


class Twice(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return bilinear(x, 10, 14, keeps=ORIGIN)


def test_a_graph_computes_the_same_and_has_the_gradient() -> None:
    """The gradient of the sum is the total weight of each value."""
    plain = bilinear(Tensor(maps()), 10, 14, keeps=ORIGIN).asnumpy()
    ms.set_context(mode=ms.GRAPH_MODE)
    np.testing.assert_allclose(Twice()(Tensor(maps())).asnumpy(), plain, atol=1e-6)
    gradient = ops.grad(Twice())(Tensor(maps())).asnumpy()
    added = np.outer(weights(5, 10, ORIGIN).sum(axis=1), weights(7, 14, ORIGIN).sum(axis=1))
    np.testing.assert_allclose(gradient, np.broadcast_to(added, gradient.shape), rtol=1e-5)
