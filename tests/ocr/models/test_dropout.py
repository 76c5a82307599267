"""Dropout depends only on the key, and is statistically independent."""

from __future__ import annotations

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.ocr.models.dropout import Dropout, DropPath, cells, draw

SHAPE = (40, 16, 100)


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["pynative", "graph"])
def _mode(request: pytest.FixtureRequest) -> None:
    ms.set_context(mode=request.param)


def dropped(cell: Dropout, key: int) -> NDArray[np.bool_]:
    cell.set_train(True)
    cell.key.set_data(Tensor(np.int32(key)))
    found: NDArray[np.float32] = cell(Tensor(np.ones(SHAPE, np.float32))).asnumpy()
    np.testing.assert_allclose(found[found != 0], 1 / 0.8, rtol=1e-6)
    return found == 0


@pytest.mark.usefixtures("_mode")
def test_a_key_is_reproducible_and_another_key_differs() -> None:
    cell = Dropout(0.2)
    first, second, again = (dropped(cell, key) for key in (7, 8, 7))
    np.testing.assert_array_equal(first, again)
    assert (first & second).mean() == pytest.approx(0.04, abs=0.005)
    np.testing.assert_array_equal(dropped(Dropout(0.2), 7), first)


@pytest.mark.parametrize("key", [0, 1, 2**31 - 1])
def test_values_are_dropped_independently(key: int) -> None:
    """The shares of all, along each axis and of neighbours match independent draws within five standard deviations."""
    found = dropped(Dropout(0.2), key)
    for axes in ((0, 1, 2), (0, 1), (0, 2), (1, 2)):
        count = np.prod([SHAPE[axis] for axis in axes])
        assert np.abs(found.mean(axes) - 0.2).max() < 5 * (0.16 / count) ** 0.5
    for step in (1, 100, 1600):
        flat = found.ravel()
        assert abs(np.corrcoef(flat[:-step], flat[step:])[0, 1]) < 5 / len(flat) ** 0.5
    corners = found.reshape(2, 320, 2, 50).sum(axis=(0, 2))  # rectangles of rows and columns
    expected = [0.8**4, 4 * 0.2 * 0.8**3, 6 * 0.04 * 0.64, 4 * 0.008 * 0.8, 0.2**4]
    shares = np.bincount(corners.ravel(), minlength=5) / corners.size
    np.testing.assert_allclose(shares, expected, atol=5 * (0.25 / corners.size) ** 0.5)


def test_nothing_is_dropped_without_training_or_a_rate() -> None:
    x = Tensor(np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32))
    still, idle = Dropout(0.5), Dropout(0.0)
    still.set_train(False)
    idle.set_train(True)
    for cell in (still, idle):
        np.testing.assert_array_equal(cell(x).asnumpy(), x.asnumpy())


def test_a_network_gives_each_dropout_its_own_key_and_does_not_list_keys() -> None:
    network = nn.SequentialCell(nn.Dense(2, 2), Dropout(0.2), DropPath(0.2))
    assert [parameter.name for parameter in network.get_parameters()] == ["0.weight", "0.bias"]
    both = cells(network)
    draw(both, np.random.default_rng((1, 2)))
    keys = [int(cell.key.asnumpy()) for cell in both]
    assert len(set(keys)) == 2
    draw(both, np.random.default_rng((1, 2)))
    assert [int(cell.key.asnumpy()) for cell in both] == keys
