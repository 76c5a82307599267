"""The loss of a guided head, against its definition."""

import numpy as np
import pytest
from mindspore import Tensor, ops

from hccl_kit.ocr.losses.ctc import CTCLoss
from hccl_kit.ocr.losses.multi import MultiLoss
from hccl_kit.ocr.tasks.text_heads import MULTI

LABELS = [(0, 1), (2,)]
BLANK, TOKENS = 3, 7


def test_the_loss_is_that_of_ctc_plus_the_smoothed_mean_over_characters_and_ends() -> None:
    generator = np.random.default_rng(0)
    of_ctc = Tensor(generator.standard_normal((6, 2, BLANK + 1)).astype(np.float32))
    of_decoder = generator.standard_normal((2, 4, TOKENS)).astype(np.float32) * 3
    targets = [Tensor(array) for array in MULTI.targets(LABELS, 3)]
    chances = np.exp(of_decoder.astype(np.float64))
    logs = np.log(chances / chances.sum(axis=2, keepdims=True))
    losses = []
    for row, label in zip(logs, LABELS, strict=True):
        for step, token in enumerate([*(number + 4 for number in label), 3]):
            smooth = np.full(TOKENS, 0.1 / (TOKENS - 1))
            smooth[token] = 0.9
            losses.append(-(smooth * row[step]).sum())
    expected = float(CTCLoss(BLANK)(of_ctc, *targets[:2]).asnumpy()) + np.mean(losses)
    found = MultiLoss(BLANK, 0)((of_ctc, Tensor(of_decoder)), *targets)
    assert float(found.asnumpy()) == pytest.approx(expected, rel=1e-5)


def test_outputs_after_the_eos_have_no_gradient() -> None:
    targets = [Tensor(array) for array in MULTI.targets([(0,)], 3)]
    loss = MultiLoss(BLANK, 0)
    of_ctc = ops.zeros((6, 1, BLANK + 1))

    def of_decoder_alone(logits: Tensor) -> Tensor:
        return loss((of_ctc, logits), *targets)

    gradient = ops.grad(of_decoder_alone)(ops.zeros((1, 4, TOKENS))).asnumpy()
    assert np.abs(gradient[0, :2]).min() > 0
    assert np.abs(gradient[0, 2:]).max() == 0
