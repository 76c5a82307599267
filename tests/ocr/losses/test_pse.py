"""The loss of PSENet: against its definition in float64, and its properties."""

import mindspore as ms
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mindspore import Tensor, ops
from numpy.typing import NDArray

from hccl_kit.ocr.losses.pages import PSEDiceLoss, flat, hardest

pytestmark = pytest.mark.train

SIZE = (2, 16, 24)
Targets = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]


def targets() -> Targets:
    """Targets of two images: one with a text with two kernels and an ignored text, and one without text."""
    texts, kernels, mask = np.zeros(SIZE, np.float32), np.zeros((2, 2, 16, 24), np.float32), np.ones(SIZE, np.float32)
    texts[0, 4:12, 4:16] = 1
    kernels[0, 0, 5:11, 6:14] = kernels[0, 1, 7:9, 8:12] = 1
    texts[0, 0:3, 18:24] = kernels[0, 0, 1:2, 19:22] = 1
    mask[0, 0:6, 18:24] = 0
    return texts, kernels, mask


def logits(seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((2, 3, 4, 6)).astype(np.float32)


def loss_of(values: NDArray[np.float32], of: Targets, **options: float) -> float:
    return float(PSEDiceLoss(**options)(Tensor(values), *map(Tensor, of)).asnumpy())


def enlarged(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Enlarged by four, bilinearly, between pixel centres."""
    result = values.astype(np.float64)
    for axis in (2, 3):
        count = result.shape[axis]
        places = np.clip((np.arange(4 * count) + 0.5) / 4 - 0.5, 0, count - 1)
        result = np.apply_along_axis(lambda row, at, n: np.interp(at, np.arange(n), row), axis, result, places, count)
    return result


def dice(prediction: NDArray[np.float64], truth: NDArray[np.float32], mask: NDArray[np.float64]) -> float:
    shares = []
    for p, g, m in zip(prediction, truth, mask, strict=True):
        squares = (p * p * m).sum() + 0.001 + (g * g * m).sum() + 0.001  # the mask has only 0 and 1
        shares.append(2 * (p * g * m).sum() / squares)
    return 1 - float(np.mean(shares))


def expected(values: NDArray[np.float32], of: Targets, *, alpha: float = 0.7, ohem_ratio: float = 3) -> float:
    texts, kernels, mask = of
    large = enlarged(values)
    probability = 1 / (1 + np.exp(-large))
    learnt = np.zeros(SIZE)
    for number in range(len(texts)):
        beside = (texts[number] == 0) & (mask[number] == 1)
        wanted = int(min(beside.sum(), ohem_ratio * (texts[number] * mask[number]).sum()))
        cut = np.sort(large[number, 0][beside])[::-1][wanted - 1] if wanted else np.inf
        learnt[number] = ((beside & (large[number, 0] >= cut)) | (texts[number] > 0)) * mask[number]
    of_text = dice(probability[:, 0], texts, learnt)
    seen = (large[:, 0] > 0) * mask
    of_kernels = np.mean([dice(probability[:, n + 1], kernels[:, n], seen) for n in range(kernels.shape[1])])
    return float(alpha * of_text + (1 - alpha) * of_kernels)


@pytest.mark.parametrize("options", [{}, {"alpha": 0.4}, {"ohem_ratio": 0.5}, {"ohem_ratio": 100}])
def test_the_loss_matches_the_paper(options: dict[str, float]) -> None:
    loss, of = PSEDiceLoss(**options), targets()  # compiled once
    for values in map(logits, range(4)):
        found = float(loss(Tensor(values), *map(Tensor, of)).asnumpy())
        assert found == pytest.approx(expected(values, of, **options), rel=1e-4)


def test_a_correct_prediction_has_nearly_no_loss() -> None:
    texts, kernels, mask = targets()
    known = np.full((1, 3, 16, 24), -20.0, np.float32)
    known[0, 0][texts[0] > 0] = 20
    known[0, 1:][kernels[0] > 0] = 20
    part = texts[:1, ::4, ::4], kernels[:1, :, ::4, ::4], mask[:1, ::4, ::4]  # maps with the size of their targets
    assert loss_of(known[:, :, ::4, ::4], part) < 0.01
    assert loss_of(-known[:, :, ::4, ::4], part) > 0.9


def test_ignored_pixels_have_no_gradient() -> None:
    of = targets()
    gradient = ops.grad(PSEDiceLoss(), 0)(Tensor(logits()), *map(Tensor, of)).asnumpy()
    assert np.isfinite(gradient).all()
    # all pixels that depend on this one are ignored
    assert not gradient[0, :, 0, 5].any()
    assert gradient[0, 0].any()
    assert gradient[0, 1].any()
    assert not gradient[1].any()  # an image without a text


def test_graph_and_pynative_mode_agree() -> None:
    values, of = logits(), targets()
    compiled = loss_of(values, of)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    try:
        assert loss_of(values, of) == pytest.approx(compiled, rel=1e-5)
    finally:
        ms.set_context(mode=ms.GRAPH_MODE)


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
