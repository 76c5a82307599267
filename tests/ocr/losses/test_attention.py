"""The loss of attention decoders, against its definition and a reference implementation."""

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, ops

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.losses.attention import AttentionLoss
from hccl_kit.ocr.tasks.text_heads import ATTENTION
from tests.ocr.reference import reference_arrays


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


def test_outputs_after_the_eos_have_no_gradient() -> None:
    [targets] = ATTENTION.targets([(0, 1)], 4)
    gradient = ops.grad(AttentionLoss())(ms.ops.zeros((1, 5, 5), ms.float32), Tensor(targets)).asnumpy()
    assert np.abs(gradient[0, :3]).min() > 0
    assert np.abs(gradient[0, 3:]).max() == 0


def test_the_loss_matches_the_reference() -> None:
    expected = reference_arrays("loss_attention.npz")
    charset = Charset.load(None, use_space_char=False)
    labels = [tuple(charset.encode(text, lower=True)) for text in ("hello", "a1", "mindspore")]
    logits = np.random.default_rng(13).standard_normal((3, 26, 38)).astype(np.float32)
    [targets] = ATTENTION.targets(labels, 25)
    found = AttentionLoss()(Tensor(logits), Tensor(targets))
    assert float(found.asnumpy()) == pytest.approx(float(expected["loss"]), rel=1e-6)
