"""Cross-entropy of probabilities against its definition; by default, like in the reference, of their softmax."""

from typing import Any

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.losses.cross_entropy import CrossEntropySmooth

PROBABILITIES = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], np.float32)
LABELS = np.array([0, 0, 1], np.int32)


def loss(**options: Any) -> float:
    return float(CrossEntropySmooth(**options)(Tensor(PROBABILITIES), Tensor(LABELS)).asnumpy())


def test_the_loss_of_probabilities_is_their_negative_logarithm() -> None:
    assert loss(of_probabilities=True) == pytest.approx(-np.mean(np.log([0.9, 0.2, 0.5])), rel=1e-5)


def test_by_default_outputs_are_treated_as_logits() -> None:
    again = np.exp(PROBABILITIES) / np.exp(PROBABILITIES).sum(axis=1, keepdims=True)
    assert loss() == pytest.approx(-np.mean(np.log(again[np.arange(3), LABELS])), rel=1e-5)


def test_smoothing_distributes_a_share_over_all_classes() -> None:
    logs = np.log(PROBABILITIES)
    expected = -np.mean(0.7 * logs[np.arange(3), LABELS] + 0.3 * logs.mean(axis=1))
    assert loss(smoothing=0.3, of_probabilities=True) == pytest.approx(expected, rel=1e-5)


def test_a_class_of_probability_zero_has_a_finite_loss() -> None:
    made = CrossEntropySmooth(of_probabilities=True)
    found = made(Tensor(np.array([[1.0, 0.0]], np.float32)), Tensor(np.array([1], np.int32)))
    assert np.isfinite(float(found.asnumpy()))
