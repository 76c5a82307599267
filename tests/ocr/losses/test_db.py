"""The loss of DBNet: against its definition in float64, against the reference, and its properties."""

from functools import cache
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn, ops
from numpy.typing import NDArray

from hccl_kit.ocr.losses.pages import AuxDBLoss, DBLoss
from tests.ocr.reference import reference_arrays

pytestmark = pytest.mark.train

SHAPE = (3, 1, 16, 20)
Arrays = list[NDArray[Any]]


class OfThree(nn.Cell):
    """Three maps as three inputs, to get a gradient for each."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.loss = DBLoss(**options)

    def construct(self, probability: Tensor, threshold: Tensor, binary: Tensor, *targets: Tensor) -> Tensor:
        return self.loss((probability, threshold, binary), *targets)


def batch(seed: int = 0) -> tuple[Arrays, Arrays]:
    """Maps and targets: an image with more negatives than are used, one with fewer, one without text."""
    generator = np.random.default_rng(seed)
    maps = [generator.uniform(0.02, 0.98, SHAPE).astype(np.float32) for _ in range(3)]
    kernels = np.zeros(SHAPE, np.float32)
    kernels[0, 0, 2:5, 3:8] = 1
    kernels[1, 0, 1:15, 1:18] = 1
    mask = np.ones((3, 16, 20), np.float32)
    mask[0, :2, :6] = mask[2, 5:9, 5:9] = 0
    thresholds = generator.uniform(0.3, 0.7, mask.shape).astype(np.float32)
    border = (generator.uniform(0, 1, mask.shape) < 0.4).astype(np.float32)
    return maps, [kernels, mask, thresholds, border]


def tensors(arrays: Arrays) -> tuple[Tensor, ...]:
    return tuple(map(Tensor, arrays))


@cache
def of_three(_mode: int, **options: Any) -> OfThree:
    """A shared network, which is compiled only once for a shape."""
    return OfThree(**options)


def value(maps: Arrays, targets: Arrays, **options: Any) -> float:
    loss = of_three(ms.get_context("mode"), **options)
    return float(loss(*tensors(maps), *tensors(targets)).asnumpy())


def entropy(maps: Arrays, targets: Arrays) -> float:
    """The loss of the probability map alone."""
    return float(of_one(ms.get_context("mode"))(Tensor(maps[0]), *tensors(targets)).asnumpy())


@cache
def of_one(_mode: int) -> DBLoss:
    return DBLoss()


def cross_entropy(probability: NDArray[Any], kernels: NDArray[Any], mask: NDArray[Any]) -> float:
    """Computed image by image, as in the paper."""
    total, count = 0.0, 0
    for p, g, m in zip(probability[:, 0].astype(np.float64), kernels[:, 0], mask, strict=True):
        losses = -(g * np.log(p) + (1 - g) * np.log(1 - p))
        positives = int((g * m).sum())
        negatives = max(min(int(((1 - g) * m).sum()), 3 * positives), 10)
        hard = np.sort((losses * (1 - g) * m).ravel())[::-1]
        total += float((losses * g * m).sum() + hard[:negatives].sum())
        count += positives + negatives
    return total / (count + 1e-6)


def dice(p: NDArray[Any], kernels: NDArray[Any], mask: NDArray[Any]) -> float:
    p, g = p[:, 0].astype(np.float64), kernels[:, 0]
    return float(1 - 2 * (p * g * mask).sum() / ((p * mask).sum() + (g * mask).sum() + 1e-6))


def focal(p: NDArray[Any], kernels: NDArray[Any], mask: NDArray[Any]) -> float:
    p, g = p[:, 0].astype(np.float64), kernels[:, 0]
    text, rest = -0.25 * (1 - p) ** 2.5 * np.log(p), -0.75 * p**2.5 * np.log(1 - p)
    return float(((g * text + (1 - g) * rest) * mask).sum() / mask.sum())


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_the_loss_of_ppocr_matches_its_definition(mode: int) -> None:
    maps, [kernels, mask, thresholds, border] = batch()
    truth = kernels[:, 0]
    l1 = (np.abs(maps[1][:, 0] - thresholds) * border).sum() / border.sum()
    first, last = (dice(each, truth[:, None], mask) + focal(each, truth[:, None], mask) for each in (maps[0], maps[2]))
    ms.set_context(mode=mode)
    found = value(maps, [kernels, mask, thresholds, border], bce_replace="dicefocalloss")
    ms.set_context(mode=ms.GRAPH_MODE)
    assert found == pytest.approx(5 * first + 10 * l1 + last, rel=1e-5)


@pytest.mark.parametrize("options", [{}, {"bce_replace": "dicefocalloss"}])
def test_certain_pixels_have_a_finite_loss_and_gradient(options: dict[str, str]) -> None:
    """Probabilities of exactly 0 and 1, correct and wrong: a sigmoid in float32 reaches both."""
    _, targets = batch()
    maps = tensors([np.tile(np.array([0, 1], np.float32), 480).reshape(SHAPE)] * 3)
    loss, gradients = ops.value_and_grad(OfThree(**options), (0, 1, 2), None)(*maps, *tensors(targets))
    assert all(np.isfinite(each.asnumpy()).all() for each in (loss, *gradients))


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_the_loss_matches_its_definition(mode: int) -> None:
    maps, [kernels, mask, thresholds, border] = batch()
    l1 = (np.abs(maps[1][:, 0] - thresholds) * border).sum() / border.sum()
    by_hand = cross_entropy(maps[0], kernels, mask)
    binary = dice(maps[2], kernels, mask)
    ms.set_context(mode=mode)
    try:
        targets = [kernels, mask, thresholds, border]
        assert value(maps, targets) == pytest.approx(binary + 10 * l1 + 5 * by_hand, rel=1e-5)
        assert value(maps, targets, l1_scale=2, bce_scale=3) == pytest.approx(binary + 2 * l1 + 3 * by_hand, rel=1e-5)
        by_dice = binary + 10 * l1 + 5 * dice(maps[0], kernels, mask)
        assert value(maps, targets, bce_replace="diceloss") == pytest.approx(by_dice, rel=1e-5)
        assert entropy(maps, targets) == pytest.approx(by_hand, rel=1e-5)
    finally:
        ms.set_context(mode=ms.GRAPH_MODE)


def test_masked_and_easy_pixels_have_no_gradient() -> None:
    maps, targets = batch()
    probability, [kernels, mask, *_] = maps[0], targets
    gradient = ops.grad(DBLoss(), 0)(Tensor(probability), *tensors(targets)).asnumpy()
    assert not gradient[(mask == 0)[:, None]].any()
    assert (gradient[(kernels == 1) & (mask == 1)[:, None]] < 0).all()
    taught = (gradient > 0).sum(axis=(1, 2, 3))
    assert taught.tolist() == [45, min(320 - 238, 3 * 238), 10]


def test_a_batch_without_text_has_a_loss() -> None:
    maps, [kernels, mask, thresholds, border] = batch()
    assert np.isfinite(value(maps, [kernels * 0, mask, thresholds, border * 0]))
    assert np.isfinite(value(maps, [kernels * 0, mask * 0, thresholds, border * 0]))


def test_half_precision_inputs_are_computed_in_float32() -> None:
    maps, targets = batch()
    halves = [array.astype(np.float16) for array in maps]
    assert value(halves, targets) == pytest.approx(value([h.astype(np.float32) for h in halves], targets), rel=1e-6)


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_losses_of_auxiliary_heads_are_weighted_by_their_factors(mode: int) -> None:
    maps, targets = batch()
    levels = [maps, *([np.clip(one * factor, 0.01, 0.99) for one in maps] for factor in (0.9, 0.8, 0.7))]
    given = tuple(tensors([one for level in levels for one in level]))
    ms.set_context(mode=mode)
    try:
        each = [value(level, targets) for level in levels]
        found = float(AuxDBLoss()(given, *tensors(targets)).asnumpy())
        only_last = float(AuxDBLoss(aux_scales=(0, 0, 2))(given, *tensors(targets)).asnumpy())
        alone = float(AuxDBLoss()(given[:3], *tensors(targets)).asnumpy())
    finally:
        ms.set_context(mode=ms.GRAPH_MODE)
    assert len(set(each)) == 4
    assert found == pytest.approx(each[0] + 0.2 * each[1] + 0.3 * each[2] + 0.4 * each[3], rel=1e-5)
    assert only_last == pytest.approx(each[0] + 2 * each[3], rel=1e-5)
    assert alone == pytest.approx(each[0], rel=1e-5)


def test_losses_and_gradients_match_the_reference() -> None:
    values = reference_arrays("loss_dbloss.npz")
    names = ("binary", "thresh", "thresh_binary")
    maps, targets = [values[name] for name in names], [values[n] for n in ("gt", "mask", "thresh_map", "thresh_mask")]
    loss, gradients = ops.value_and_grad(OfThree(), (0, 1, 2), None)(*tensors(maps), *tensors(targets))
    assert float(loss.asnumpy()) == pytest.approx(float(values["loss_yaml"]), rel=1e-6)
    for name, gradient in zip(names, gradients, strict=True):
        np.testing.assert_allclose(gradient.asnumpy(), values[f"grad_{name}"], rtol=1e-5, atol=1e-9)
    assert value(maps, targets, bce_replace="diceloss") == pytest.approx(float(values["loss_diceloss"]), rel=1e-6)
    assert entropy(maps, targets) == pytest.approx(float(values["loss_binary_only"]), rel=1e-6)
    for number in range(3):
        one = entropy([maps[0][[number]]], [target[[number]] for target in targets])
        assert one == pytest.approx(float(values[f"part_bce_image{number}"]), rel=1e-6)
