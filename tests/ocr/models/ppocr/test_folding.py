"""Folded layers match the original layers, computed with PyTorch."""

from typing import Any

import numpy as np
import pytest

from hccl_kit.ocr.models.ppocr import folding
from hccl_kit.ocr.models.ppocr.folding import Convolution, Norm
from tests.on_use import on_use

torch = on_use("torch")
functional = on_use("torch.nn.functional")

pytestmark = pytest.mark.torch

CHANNELS = 6
GENERATOR = np.random.default_rng(0)
MAP = GENERATOR.standard_normal((2, CHANNELS, 13, 11)).astype(np.float32)


def weights(*shape: int) -> folding.Array:
    return GENERATOR.standard_normal(shape).astype(np.float32)


def norm(channels: int = CHANNELS) -> Norm:
    gamma, beta, mean = (weights(channels) for _ in range(3))
    return Norm(gamma, beta, mean, weights(channels) ** 2 + 0.1)


def normalise(x: Any, of: Norm) -> Any:
    gamma, beta, mean, variance = map(torch.from_numpy, of)
    return functional.batch_norm(x, mean, variance, gamma, beta, eps=1e-5)


def convolve(weight: folding.Array, *, dilation: int = 1, x: Any = None) -> Any:
    padding = dilation * (weight.shape[-1] // 2)
    x = torch.from_numpy(MAP) if x is None else x
    return functional.conv2d(x, torch.from_numpy(weight), padding=padding, dilation=dilation, groups=CHANNELS)


def assert_same(found: Convolution, expected: Any) -> None:
    padding, bias = found.weight.shape[-1] // 2, torch.from_numpy(found.bias)
    folded = functional.conv2d(
        torch.from_numpy(MAP), torch.from_numpy(found.weight), bias, padding=padding, groups=CHANNELS
    )
    assert np.allclose(folded.numpy(), expected.numpy(), atol=1e-4)


def test_folds_the_branches_of_a_depthwise_convolution() -> None:
    three, one, inner, outer = weights(CHANNELS, 1, 3, 3), weights(CHANNELS, 1, 1, 1), norm(), norm()
    expected = normalise(normalise(convolve(three), inner) + convolve(one) + torch.from_numpy(MAP), outer)
    assert_same(folding.depthwise(three, inner, one, outer), expected)


@pytest.mark.parametrize(
    ("size", "branches"),
    [(5, ((5, 1), (3, 1), (3, 2))), (7, ((7, 1), (5, 1), (3, 2), (3, 3))), (9, ((9, 1), (5, 2), (3, 4)))],
)
def test_folds_the_branches_of_a_large_kernel(size: int, branches: tuple[tuple[int, int], ...]) -> None:
    parts = [(weights(CHANNELS, 1, side, side), norm(), dilation) for side, dilation in branches]
    expected = sum(normalise(convolve(weight, dilation=dilation), of) for weight, of, dilation in parts)
    assert_same(folding.large_kernel(iter(parts), size=size), expected)


def test_a_transposed_convolution_is_scaled_along_its_outputs() -> None:
    weight, bias, of = weights(CHANNELS, 4, 2, 2), weights(4), norm(4)
    x = torch.from_numpy(MAP)
    expected = normalise(functional.conv_transpose2d(x, torch.from_numpy(weight), torch.from_numpy(bias), stride=2), of)
    found = folding.normalised(weight, of, bias=bias, transposed=True)
    folded = functional.conv_transpose2d(x, torch.from_numpy(found.weight), torch.from_numpy(found.bias), stride=2)
    assert np.allclose(folded.numpy(), expected.numpy(), atol=1e-4)
