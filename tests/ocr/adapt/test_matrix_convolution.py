"""A convolution that became a product gives what it gave before, forwards and backwards, under its old names."""

from typing import Any

import numpy as np
import pytest
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.ocr import config
from hccl_kit.ocr.adapt import instruction_set
from hccl_kit.ocr.adapt.matrix_convolution import Pair, Unfolded, _GradientOfInterleaved, _OfInterleaved, places, unfold
from hccl_kit.ocr.models.crnn_small import Backbone
from hccl_kit.ocr.run.start import FASTER_AS_PRODUCTS
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.train import build
from tests.ocr.differentiated import found
from tests.ocr.tiny import ALONE, Normed
from tests.places import ROOT

SHAPE = (2, 3, 9, 12)


def assert_equal(one: list[NDArray[np.float32]], other: list[NDArray[np.float32]]) -> None:
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (3, {"pad_mode": "pad", "padding": 1}),
        ((9, 2), {"pad_mode": "valid", "has_bias": True}),
        ((9, 3), {"pad_mode": "pad", "padding": (4, 4, 0, 0)}),
        ((9, 2), {"pad_mode": "valid", "stride": 2}),
        ((2, 4), {"pad_mode": "valid", "dilation": (2, 3)}),
        (3, {"pad_mode": "pad", "padding": 4}),
        (3, {"pad_mode": "pad", "padding": 1, "stride": 2, "has_bias": True}),
        (3, {"pad_mode": "pad", "padding": (2, 2, 1, 1), "stride": (2, 1)}),
        (2, {"pad_mode": "valid"}),
        ((4, 1), {"pad_mode": "valid"}),
        ((1, 5), {"pad_mode": "same"}),
        (3, {"pad_mode": "same", "dilation": 2}),
        (3, {"pad_mode": "valid", "dilation": (1, 3), "stride": (1, 2)}),
        (1, {"pad_mode": "valid", "stride": 2}),
    ],
)
@pytest.mark.parametrize("channels", [4, pytest.param(7, marks=pytest.mark.long)])
def test_values_and_gradients_stay(kernel: int | tuple[int, int], options: dict[str, Any], channels: int) -> None:
    convolution = nn.Conv2d(3, channels, kernel, **options)
    before, names = found(convolution, SHAPE), [p.name for p in convolution.get_parameters()]
    assert unfold(convolution) == 0
    assert isinstance(convolution.conv2d, nn.Cell)
    assert [p.name for p in convolution.get_parameters()] == names
    assert_equal(found(convolution, SHAPE), before)


@pytest.mark.parametrize(
    ("channels", "stride", "interleaved"), [(6, 1, True), (7, 1, False), (3, (1, 2), False), (3, (2, 1), False)]
)
def test_images_are_interleaved_where_that_pays(channels: int, stride: int | Pair, interleaved: bool) -> None:
    """Many maps have to be taken apart, and with a stride most of the gradient's patches would be empty."""
    convolution = nn.Conv2d(3, channels, 3, stride, pad_mode="pad", padding=1)
    unfold(convolution)
    assert isinstance(convolution.conv2d.product, _OfInterleaved) == interleaved
    assert isinstance(convolution.conv2d.gradient, _GradientOfInterleaved) == interleaved


@pytest.mark.parametrize(
    ("kernel", "options", "channels"),
    [
        ((9, 2), {"pad_mode": "valid"}, 27),
        ((9, 3), {"pad_mode": "pad", "padding": (4, 4, 0, 0)}, 3),
        ((8, 2), {"pad_mode": "valid"}, 3),
    ],
)
def test_rows_are_channels_where_the_kernel_sees_all(kernel: Pair, options: dict[str, Any], channels: int) -> None:
    convolution = nn.Conv2d(3, 4, kernel, **options)
    unfold(convolution)
    images, weights = convolution.conv2d._flat(Tensor(np.zeros(SHAPE, np.float32)), convolution.weight)
    assert images.shape[1] == weights.shape[1] == channels


def test_places_of_a_kernel() -> None:
    """Two rows of three pixels, padded with a column on each side; pixel 6 is padding."""
    seen = places((2, 3), (1, 4), (2, 2), (1, 1), (0, 1)).asnumpy().reshape(2, 2, 4)
    assert seen.tolist() == [[[6, 0, 1, 2], [0, 1, 2, 6]], [[6, 3, 4, 5], [3, 4, 5, 6]]]


def test_places_of_a_gradient() -> None:
    """Of the maps above: a pixel takes back from each place that it was seen from."""
    seen = places((1, 4), (2, 3), (2, 2), (-1, -1), (0, -1)).asnumpy().reshape(2, 2, 2, 3)
    assert seen.tolist() == [
        [[[1, 2, 3], [4, 4, 4]], [[0, 1, 2], [4, 4, 4]]],
        [[[4, 4, 4], [1, 2, 3]], [[4, 4, 4], [0, 1, 2]]],
    ]


def test_a_network_stays_what_it_is() -> None:
    network = Backbone("rec_conv_lines", [4, 6, 8, 8, 8, 8])
    names = [p.name for p in network.get_parameters()]
    before = found(network, (2, 3, 32, 24))
    assert unfold(network) == 0
    assert [p.name for p in network.get_parameters()] == names
    assert_equal(found(network, (2, 3, 32, 24)), before)


@pytest.mark.parametrize("name", ["crnn/crnn_vgg7", "crnn/crnn_resnet34", "crnn/crnn_receipts", "svtr/svtr_tiny"])
def test_all_of_a_backbone_that_is_trained_with_products_can_be_one(name: str) -> None:
    settings = config.load(ROOT / "configs" / "rec" / f"{name}.yaml")
    assert settings["model"]["backbone"]["name"] in FASTER_AS_PRODUCTS
    assert unfold(recipes.network(settings)) == 0


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize(("name", "left"), [("rec/crnn/crnn_receipts", 0), ("cls/mobilenetv3/cls_mv3_receipts", 11)])
def test_a_training_makes_products_where_the_processor_is_good_at_them(
    name: str, left: int, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instruction_set, "wide", lambda _: wide)
    said: list[str] = []
    network = build.network_to_train(config.load(ROOT / "configs" / f"{name}.yaml"), ALONE, said.append)
    assert any(isinstance(cell, Unfolded) for _, cell in network.cells_and_names()) == wide
    words = [word for word in said if "cannot be computed as matrix products" in word]
    assert [int(word.split()[0]) for word in words] == ([left] if wide and left else [])


def test_what_is_frozen_gets_no_gradient() -> None:
    network = Normed()
    network.stem[0].weight.requires_grad = False
    before = found(network, (2, 1, 4, 4))
    unfold(network)
    assert_equal(found(network, (2, 1, 4, 4)), before)


@pytest.mark.parametrize(
    "convolution",
    [
        nn.Conv2d(4, 4, 3, pad_mode="pad", padding=1, group=2),
        nn.Conv2d(4, 4, 3, pad_mode="pad", padding=(0, 1, 0, 1)),
        nn.Conv2d(4, 4, 2, pad_mode="same"),
        nn.Conv2d(4, 4, 3, pad_mode="same", stride=2),
    ],
)
def test_what_cannot_be_a_product_stays_and_is_counted(convolution: nn.Cell) -> None:
    assert unfold(nn.SequentialCell(convolution, nn.ReLU())) == 1
    assert not isinstance(convolution.conv2d, nn.Cell)


def test_what_is_a_product_anyway_is_left_alone() -> None:
    convolution = nn.Conv2d(3, 4, 1, pad_mode="valid")
    assert unfold(convolution) == 0
    assert not isinstance(convolution.conv2d, nn.Cell)
