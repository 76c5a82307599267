"""The losses of lines, against their definitions and against values of a reference implementation."""

import itertools
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, ops
from numpy.typing import NDArray

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.losses.lines import AttentionLoss, CaselessCTCLoss, CrossEntropySmooth, CTCLoss, MultiLoss
from hccl_kit.ocr.tasks.text_heads import ATTENTION, MULTI
from tests.ocr.reference import reference_arrays

STEPS, CLASSES, BLANK = 5, 4, 3
LABELS = [(0,), (1, 1), (0, 1, 2), (2, 2, 2), (2, 0), (1, 2, 1)]


def folded(path: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(number for number, _ in itertools.groupby(path) if number != BLANK)


def by_all_paths(logits: NDArray[np.float64], label: tuple[int, ...]) -> float:
    """-log p(label) of one sample, logits (T, classes), summed over every path that collapses to the label."""
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
    """Three equal characters need five steps; `Feed` skips such labels."""
    logits = Tensor(np.zeros((STEPS - 1, len(LABELS), CLASSES), np.float32))
    assert np.isinf(float(loss(logits, *padded(LABELS, 3, 0)).asnumpy()))


def test_loss_and_gradient_match_the_reference() -> None:
    charset = Charset.load(None, use_space_char=False)
    labels = [tuple(charset.encode(text, lower=True)) for text in ("hello", "aa0bb1", "mindspore", "book")]
    logits = np.random.default_rng(12).standard_normal((24, 5, 37)).astype(np.float32)[:, [0, 1, 2, 4]]
    differentiate = ops.value_and_grad(CTCLoss(charset.blank), 0, None)
    found, gradient = differentiate(Tensor(logits), *padded(labels, 23, 36))
    expected = reference_arrays("loss_ctc.npz")
    assert float(found.asnumpy()) == pytest.approx(float(expected["loss_mean_without_empty"]), rel=1e-6)
    np.testing.assert_allclose(gradient.asnumpy(), expected["grad_logits_without_empty"], atol=1e-5)


OTHER = [2, 1, 0]
"""Class 0 is `a`, class 2 is `A`, class 1 is a digit."""
LOWER = [(0,), (1, 1), (0, 1, 0), (1, 0), (0, 0)]


@pytest.fixture(scope="module")
def caseless() -> CaselessCTCLoss:
    return CaselessCTCLoss(BLANK, OTHER, [False] * 3)


def cases(label: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All variants of a label with each letter in both cases."""
    return list(itertools.product(*(sorted({number, OTHER[number]}) for number in label)))


def by_folded_paths(logits: NDArray[np.float64], label: tuple[int, ...]) -> float:
    """-log p(label) of one sample, summed over every path that collapses to the label ignoring case."""
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    lower = [0, 1, 0, BLANK]
    paths = itertools.product(range(CLASSES), repeat=STEPS)
    fitting = (path for path in paths if folded(tuple(lower[number] for number in path)) == label)
    return -float(np.log(sum(np.prod(chances[range(STEPS), path]) for path in fitting)))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("filling", [0, 1, BLANK])
def test_the_caseless_loss_is_the_sum_over_paths_of_both_cases(
    caseless: CaselessCTCLoss, seed: int, filling: int
) -> None:
    logits = np.random.default_rng(seed).standard_normal((STEPS, len(LOWER), CLASSES)) * 2
    expected = np.mean([by_folded_paths(logits[:, n], label) for n, label in enumerate(LOWER)])
    found = caseless(Tensor(logits.astype(np.float32)), *padded(LOWER, 3, filling))
    assert float(found.asnumpy()) == pytest.approx(float(expected), rel=1e-5)


def test_the_gradient_of_the_caseless_loss_matches_finite_differences() -> None:
    """Central differences of the sum over all paths."""
    logits = np.random.default_rng(3).standard_normal((STEPS, len(LOWER), CLASSES))
    expected = np.zeros_like(logits)
    for place in np.ndindex(logits.shape):
        step = np.zeros_like(logits)
        step[place] = 1e-5
        sample, label = place[1], LOWER[place[1]]
        high, low = (by_folded_paths((logits + sign * step)[:, sample], label) for sign in (1, -1))
        expected[place] = (high - low) / 2e-5 / len(LOWER)
    differentiate = ops.value_and_grad(CaselessCTCLoss(BLANK, OTHER, [False] * 3), 0, None)
    _, gradient = differentiate(Tensor(logits.astype(np.float32)), *padded(LOWER, 3, 0))
    np.testing.assert_allclose(gradient.asnumpy(), expected, atol=1e-5)


@pytest.mark.parametrize("filling", [0, 2, BLANK])
def test_a_label_with_a_lower_case_letter_is_case_sensitive(filling: int) -> None:
    """`A`, `A1` and `1` match both cases, `a`, `aA` and `Aa` only themselves. Padding has no effect."""
    known, unknown = [(0,), (0, 2), (2, 0)], [(2,), (2, 1), (1,)]
    logits = np.random.default_rng(7).standard_normal((STEPS, 6, CLASSES)) * 2
    lower = [tuple(0 if number == 2 else number for number in label) for label in unknown]
    expected = [
        *(by_all_paths(logits[:, n], label) for n, label in enumerate(known)),
        *(by_folded_paths(logits[:, n + 3], label) for n, label in enumerate(lower)),
    ]
    loss = CaselessCTCLoss(BLANK, OTHER, [True, False, False])
    found = loss(Tensor(logits.astype(np.float32)), *padded([*known, *unknown], 3, filling))
    assert float(found.asnumpy()) == pytest.approx(float(np.mean(expected)), rel=1e-5)


def test_both_losses_are_equal_for_a_dictionary_with_one_case() -> None:
    charset = Charset.load(None, use_space_char=False)
    labels = padded([tuple(charset.encode(text, lower=True)) for text in ("hello", "aa0bb1", "book")], 23, 36)
    logits = Tensor(np.random.default_rng(5).standard_normal((24, 3, 37)).astype(np.float32) * 3)
    results = [
        ops.value_and_grad(loss, 0, None)(logits, *labels)
        for loss in (CTCLoss(charset.blank), CaselessCTCLoss(charset.blank, charset.other_case(), charset.tells_case()))
    ]
    assert float(results[0][0].asnumpy()) == pytest.approx(float(results[1][0].asnumpy()), rel=1e-6)
    np.testing.assert_allclose(results[0][1].asnumpy(), results[1][1].asnumpy(), atol=1e-5)


OF_TWO = [(0, 1), (2,)]
TOKENS = 7


def test_the_loss_is_that_of_ctc_plus_the_smoothed_mean_over_characters_and_ends() -> None:
    generator = np.random.default_rng(0)
    of_ctc = Tensor(generator.standard_normal((6, 2, BLANK + 1)).astype(np.float32))
    of_decoder = generator.standard_normal((2, 4, TOKENS)).astype(np.float32) * 3
    targets = [Tensor(array) for array in MULTI.targets(OF_TWO, 3)]
    chances = np.exp(of_decoder.astype(np.float64))
    logs = np.log(chances / chances.sum(axis=2, keepdims=True))
    losses = []
    for row, label in zip(logs, OF_TWO, strict=True):
        for step, token in enumerate([*(number + 4 for number in label), 3]):
            smooth = np.full(TOKENS, 0.1 / (TOKENS - 1))
            smooth[token] = 0.9
            losses.append(-(smooth * row[step]).sum())
    expected = float(CTCLoss(BLANK)(of_ctc, *targets[:2]).asnumpy()) + np.mean(losses)
    found = MultiLoss(BLANK, 0)((of_ctc, Tensor(of_decoder)), *targets)
    assert float(found.asnumpy()) == pytest.approx(expected, rel=1e-5)


def test_outputs_of_the_decoder_after_the_eos_have_no_gradient() -> None:
    targets = [Tensor(array) for array in MULTI.targets([(0,)], 3)]
    loss = MultiLoss(BLANK, 0)
    of_ctc = ops.zeros((6, 1, BLANK + 1))

    def of_decoder_alone(logits: Tensor) -> Tensor:
        return loss((of_ctc, logits), *targets)

    gradient = ops.grad(of_decoder_alone)(ops.zeros((1, 4, TOKENS))).asnumpy()
    assert np.abs(gradient[0, :2]).min() > 0
    assert np.abs(gradient[0, 2:]).max() == 0


@pytest.mark.parametrize("seed", [0, 1])
def test_the_loss_is_the_mean_over_characters_and_eos_tokens(seed: int) -> None:
    labels = [(0, 1), (), (2, 2, 0)]
    [targets] = ATTENTION.targets(labels, 4)
    logits = np.random.default_rng(seed).standard_normal((3, 5, 5)).astype(np.float32) * 3
    chances = np.exp(logits.astype(np.float64))
    chances /= chances.sum(axis=2, keepdims=True)
    logs = [
        np.log(chances[n, step, token])
        for n, label in enumerate(labels)
        for step, token in enumerate([*(number + 2 for number in label), 1])
    ]
    found = AttentionLoss()(Tensor(logits), Tensor(targets))
    assert float(found.asnumpy()) == pytest.approx(-np.mean(logs), rel=1e-5)


def test_outputs_of_attention_after_the_eos_have_no_gradient() -> None:
    [targets] = ATTENTION.targets([(0, 1)], 4)
    gradient = ops.grad(AttentionLoss())(ms.ops.zeros((1, 5, 5), ms.float32), Tensor(targets)).asnumpy()
    assert np.abs(gradient[0, :3]).min() > 0
    assert np.abs(gradient[0, 3:]).max() == 0


def test_the_loss_of_attention_matches_the_reference() -> None:
    expected = reference_arrays("loss_attention.npz")
    charset = Charset.load(None, use_space_char=False)
    labels = [tuple(charset.encode(text, lower=True)) for text in ("hello", "a1", "mindspore")]
    logits = np.random.default_rng(13).standard_normal((3, 26, 38)).astype(np.float32)
    [targets] = ATTENTION.targets(labels, 25)
    found = AttentionLoss()(Tensor(logits), Tensor(targets))
    assert float(found.asnumpy()) == pytest.approx(float(expected["loss"]), rel=1e-6)


PROBABILITIES = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], np.float32)
CLASSES_OF = np.array([0, 0, 1], np.int32)


def smooth_loss(**options: Any) -> float:
    return float(CrossEntropySmooth(**options)(Tensor(PROBABILITIES), Tensor(CLASSES_OF)).asnumpy())


def test_the_loss_of_probabilities_is_their_negative_logarithm() -> None:
    assert smooth_loss(of_probabilities=True) == pytest.approx(-np.mean(np.log([0.9, 0.2, 0.5])), rel=1e-5)


def test_by_default_outputs_are_treated_as_logits() -> None:
    again = np.exp(PROBABILITIES) / np.exp(PROBABILITIES).sum(axis=1, keepdims=True)
    assert smooth_loss() == pytest.approx(-np.mean(np.log(again[np.arange(3), CLASSES_OF])), rel=1e-5)


def test_smoothing_distributes_a_share_over_all_classes() -> None:
    logs = np.log(PROBABILITIES)
    expected = -np.mean(0.7 * logs[np.arange(3), CLASSES_OF] + 0.3 * logs.mean(axis=1))
    assert smooth_loss(smoothing=0.3, of_probabilities=True) == pytest.approx(expected, rel=1e-5)


def test_a_class_of_probability_zero_has_a_finite_loss() -> None:
    made = CrossEntropySmooth(of_probabilities=True)
    found = made(Tensor(np.array([[1.0, 0.0]], np.float32)), Tensor(np.array([1], np.int32)))
    assert np.isfinite(float(found.asnumpy()))
