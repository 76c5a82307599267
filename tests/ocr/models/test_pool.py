"""Pairwise pooling matches the framework's in values and gradients; outside of training, that one is used."""

from __future__ import annotations

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn, ops

from hccl_kit.ocr.models.pool import MaxPool

pytestmark = pytest.mark.usefixtures("pynative")


@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (1, 2, 2, 2), (1, 1, 6, 4)])
@pytest.mark.parametrize("rows_only", [True, False])
def test_values_and_gradients_match_max_pooling(shape: tuple[int, ...], rows_only: bool) -> None:
    pool = MaxPool(rows_only=rows_only)
    pool.set_train(True)
    x = Tensor(np.random.default_rng(3).standard_normal(shape).astype(np.float32))
    for one, other in zip(_energy(pool, x), _energy(pool.pool, x), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("shape", "rows_only"), [((1, 2, 5, 4), False), ((1, 2, 4, 5), False), ((1, 2, 5, 5), True)])
def test_an_odd_row_or_column_is_dropped(shape: tuple[int, ...], rows_only: bool) -> None:
    pool = MaxPool(rows_only=rows_only)
    pool.set_train(True)
    x = Tensor(np.random.default_rng(3).standard_normal(shape).astype(np.float32))
    assert pool(x).shape == (1, 2, shape[2] // 2, shape[3] if rows_only else shape[3] // 2)
    np.testing.assert_array_equal(pool(x).asnumpy(), pool.pool(x).asnumpy())


def test_an_odd_width_is_supported_if_only_rows_are_pooled() -> None:
    pool = MaxPool(rows_only=True)
    pool.set_train(True)
    pool.pool = nn.Identity()  # would change the shape
    assert pool(Tensor(np.zeros((1, 2, 4, 5), np.float32))).shape == (1, 2, 2, 5)


@pytest.mark.parametrize(("training", "device"), [(False, "CPU"), (True, "Ascend")])
def test_evaluation_export_and_ascend_use_the_pooling_of_mindspore(
    training: bool, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """-1e8 + relu(0.001 + 1e8) is 0 in float32, which reveals the implementation that was used."""
    monkeypatch.setattr(ms, "get_context", lambda _: device)
    pool = MaxPool()
    pool.set_train(training)
    x = Tensor(np.array([[[[-1e8, 1e-3], [-1e8, -1e8]]]], np.float32))
    assert pool(x).asnumpy().item() == np.float32(1e-3)


def _energy(cell: nn.Cell, x: Tensor) -> tuple[Tensor, Tensor]:
    value, gradient = ops.value_and_grad(lambda y: ops.reduce_sum(ops.square(cell(y))))(x)
    return value, gradient
