"""The CPU implementations match the plain ones, also for extreme values, and are used on CPU only."""

from __future__ import annotations

from math import erf, sqrt

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, ops
from numpy.typing import NDArray

from hccl_kit.ocr.models.cpu_forms import Gelu, Scale, mean_of_pixels

pytestmark = pytest.mark.usefixtures("pynative")


def exact(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """GELU by the error function of the C library, in double precision."""
    return np.array([0.5 * value * (1 + erf(value / sqrt(2))) for value in values.tolist()])


def test_gelu_matches_the_exact_one() -> None:
    values = np.concatenate([np.linspace(-12, 12, 20_001), [-3e38, -1e10, -1e4, -60, 0, 60, 1e4, 1e10, 3e38]])
    expected = exact(values)
    found = Gelu()(Tensor(values.astype(np.float32))).asnumpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=5e-7)


def test_gelu_uses_the_error_function_in_training() -> None:
    values = np.linspace(-6, 6, 1_001)
    cell = Gelu()
    cell.set_train(True)
    np.testing.assert_allclose(cell(Tensor(values.astype(np.float32))).asnumpy(), exact(values), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 5, 7, 3), (3, 4, 2, 6)])
def test_each_channel_of_each_image_is_scaled_by_its_weight(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    maps = random.standard_normal(shape).astype(np.float32)
    weights = random.standard_normal((*shape[:2], 1, 1)).astype(np.float32)
    for training in (False, True):
        cell = Scale()
        cell.set_train(training)
        scaled = cell(Tensor(maps), Tensor(weights)).asnumpy()
        np.testing.assert_allclose(scaled, maps * weights, rtol=1e-6, atol=1e-7)


def test_the_gradient_of_a_channel_weight_is_that_of_a_product() -> None:
    random = np.random.default_rng(1)
    maps, gradient = (Tensor(random.standard_normal((2, 3, 4, 5)).astype(np.float32)) for _ in range(2))
    weights = Tensor(random.standard_normal((2, 3, 1, 1)).astype(np.float32))
    cell = Scale().set_train()
    of_maps, of_weights = ops.GradOperation(get_all=True, sens_param=True)(cell)(maps, weights, gradient)
    np.testing.assert_allclose(of_maps.asnumpy(), (weights * gradient).asnumpy(), rtol=1e-5, atol=1e-6)
    expected = (maps * gradient).asnumpy().sum(axis=(2, 3), keepdims=True)
    np.testing.assert_allclose(of_weights.asnumpy(), expected, rtol=1e-5, atol=1e-5)


def test_other_devices_use_the_plain_implementations(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of equal shapes works in both, so the normalisation is made to fail."""
    maps = Tensor(np.ones((1, 2, 3, 3), np.float32))
    for device, training, scales, by_erf in (
        ("CPU", False, False, False),
        ("CPU", True, False, True),
        ("Ascend", False, True, True),
    ):
        monkeypatch.setattr(ms, "get_context", lambda _, device=device: device)
        scale, gelu = Scale(), Gelu()
        monkeypatch.undo()
        scale.normalise = None
        for cell in (scale, gelu):
            cell.set_train(training)
        if scales:
            scale(maps, maps[:, :, :1, :1])
        else:
            with pytest.raises(TypeError):
                scale(maps, maps[:, :, :1, :1])
        monkeypatch.setattr(ops, "gelu", lambda *_, **__: "plain")
        assert isinstance(gelu(maps), str) == by_erf
        monkeypatch.undo()


def test_computes_the_means_of_pixels() -> None:
    maps = np.random.default_rng(0).standard_normal((2, 3, 5, 7)).astype(np.float32)
    means = mean_of_pixels(Tensor(maps)).asnumpy()
    np.testing.assert_allclose(means, maps.mean(axis=(2, 3), keepdims=True), rtol=1e-5, atol=1e-7)
