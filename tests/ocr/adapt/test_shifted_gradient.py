"""Gradients that are computed from shifted patches are unchanged, and parameters keep their names."""

from typing import Any

import numpy as np
import pytest
from mindspore import nn

from hccl_kit.ocr import config
from hccl_kit.ocr.adapt.shifted_gradient import Shifted, shift
from hccl_kit.ocr.train import build
from tests.ocr.differentiated import found
from tests.ocr.tiny import ALONE
from tests.places import ROOT

SHAPE = (2, 3, 9, 12)


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (3, {"pad_mode": "pad", "padding": 1}),
        ((2, 4), {"pad_mode": "valid", "dilation": (2, 3), "has_bias": True}),
        ((3, 5), {"pad_mode": "pad", "padding": (0, 0, 4, 4)}),
        (3, {"pad_mode": "same", "dilation": 2}),
    ],
)
def test_values_and_gradients_are_unchanged(kernel: int | tuple[int, int], options: dict[str, Any]) -> None:
    convolution = nn.Conv2d(3, 2, kernel, **options)
    before, names = found(convolution, SHAPE), [p.name for p in convolution.get_parameters()]
    assert shift(convolution, least=0) == 1
    assert [p.name for p in convolution.get_parameters()] == names
    after = found(convolution, SHAPE)
    assert len(after) == len(before)
    for left, right in zip(after, before, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("spare", "expected"), [(0, True), (1, False)])
def test_only_convolutions_with_large_patches_are_replaced(spare: int, expected: bool) -> None:
    """4 bytes for each of 3 channels, 3 x 3 kernel positions and 9 x 12 pixels."""
    convolution = nn.Conv2d(3, 2, 3, pad_mode="pad", padding=1)
    before = found(convolution, SHAPE)[1]
    shift(convolution, least=4 * 3 * 9 * 9 * 12 + spare)
    convolution.conv2d.dilation = (0, 0)  # of the shifted ones only, and wrong
    assert np.allclose(found(convolution, SHAPE)[1], before, atol=1e-3) != expected


@pytest.mark.parametrize(
    "convolution",
    [
        nn.Conv2d(4, 4, 1),
        nn.Conv2d(3, 4, 3),
        nn.Conv2d(4, 4, 3, pad_mode="pad", padding=1, group=2),
        nn.Conv2d(4, 4, 3, pad_mode="pad", padding=(0, 1, 0, 1)),
        nn.Conv2d(4, 4, 3, pad_mode="pad", padding=3),
        nn.Conv2d(4, 4, 3, 2, pad_mode="pad", padding=1),
    ],
)
def test_other_convolutions_are_not_replaced(convolution: nn.Conv2d) -> None:
    assert shift(convolution) == 0
    assert not isinstance(convolution.conv2d, nn.Cell)


@pytest.mark.parametrize(
    ("mode", "value", "expected"), [(0, "plain", True), (0, "measure", False), (1, "plain", False)]
)
def test_training_uses_it_depending_on_mode_and_setting(mode: int, value: str, expected: bool) -> None:
    """Not if oneDNN computes in its own layouts, and not in PyNative mode, which also computes unused gradients."""
    overrides = [f"system.mode={mode}", f"system.convolutions={value}"]
    settings = config.load(ROOT / "configs/det/dbnet/db_r18_receipts.yaml", overrides)
    network = build.network_to_train(settings, ALONE, lambda _: None)
    assert any(isinstance(cell, Shifted) for _, cell in network.cells_and_names()) == expected
