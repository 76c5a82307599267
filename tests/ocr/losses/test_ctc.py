"""CTC, against the sum over all paths and against values of a reference implementation."""

import itertools

import numpy as np
import pytest
from mindspore import Tensor, ops
from numpy.typing import NDArray

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.losses.ctc import CTCLoss
from tests.ocr.reference import reference_arrays

STEPS, CLASSES, BLANK = 5, 4, 3
LABELS = [(0,), (1, 1), (0, 1, 2), (2, 2, 2), (2, 0), (1, 2, 1)]


def folded(path: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(number for number, _ in itertools.groupby(path) if number != BLANK)


def by_all_paths(logits: NDArray[np.float64], label: tuple[int, ...]) -> float:
    """-log p(label) of one sample, logits (T, classes): every path that folds to the label."""
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    paths = (path for path in itertools.product(range(CLASSES), repeat=STEPS) if folded(path) == label)
    return -float(np.log(sum(np.prod(chances[range(STEPS), path]) for path in paths)))


def padded(labels: list[tuple[int, ...]], width: int, filling: int) -> tuple[Tensor, Tensor]:
    rows = np.full((len(labels), width), filling, np.int32)
    for row, label in zip(rows, labels, strict=True):
        row[: len(label)] = label
    return Tensor(rows), Tensor(np.array([len(label) for label in labels], np.int32))


@pytest.fixture(scope="module")
def loss() -> CTCLoss:
    return CTCLoss(BLANK)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("filling", [0, 2, BLANK])
def test_the_loss_is_the_sum_over_all_paths(loss: CTCLoss, seed: int, filling: int) -> None:
    logits = np.random.default_rng(seed).standard_normal((STEPS, len(LABELS), CLASSES)) * 2
    expected = np.mean([by_all_paths(logits[:, n], label) for n, label in enumerate(LABELS)])
    found = loss(Tensor(logits.astype(np.float32)), *padded(LABELS, 3, filling))
    assert float(found.asnumpy()) == pytest.approx(float(expected), rel=1e-5)


def test_a_label_that_does_not_fit_has_an_infinite_loss(loss: CTCLoss) -> None:
    """Three equal characters need five steps; `Feed` leaves such labels out."""
    logits = Tensor(np.zeros((STEPS - 1, len(LABELS), CLASSES), np.float32))
    assert np.isinf(float(loss(logits, *padded(LABELS, 3, 0)).asnumpy()))


def test_loss_and_gradient_are_those_of_the_reference() -> None:
    charset = Charset.load(None, use_space_char=False)
    labels = [tuple(charset.encode(text, lower=True)) for text in ("hello", "aa0bb1", "mindspore", "book")]
    logits = np.random.default_rng(12).standard_normal((24, 5, 37)).astype(np.float32)[:, [0, 1, 2, 4]]
    differentiate = ops.value_and_grad(CTCLoss(charset.blank), 0, None)
    found, gradient = differentiate(Tensor(logits), *padded(labels, 23, 36))
    expected = reference_arrays("loss_ctc.npz")
    assert float(found.asnumpy()) == pytest.approx(float(expected["loss_mean_without_empty"]), rel=1e-6)
    np.testing.assert_allclose(gradient.asnumpy(), expected["grad_logits_without_empty"], atol=1e-5)
