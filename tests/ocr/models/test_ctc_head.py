"""The classifier for CTC: logits in training, probabilities in evaluation."""

from math import sqrt

import numpy as np
import pytest

from hccl_kit.ocr.models.ctc_head import CTCHead
from tests.ocr.models import golden

pytestmark = pytest.mark.train


def test_probabilities_are_the_softmax_of_the_logits_with_samples_first() -> None:
    sequence = golden.images((5, 2, 8))
    training, evaluation = CTCHead(8, out_channels=4), CTCHead(8, out_channels=4)
    for head in (training, evaluation):
        golden.fill(head)
    training.set_train(True)
    evaluation.set_train(False)
    logits, found = training(sequence).asnumpy(), evaluation(sequence).asnumpy()
    assert logits.shape == (5, 2, 4)
    assert found.shape == (2, 5, 4)
    np.testing.assert_allclose(found.sum(axis=2), 1, rtol=1e-5)
    shifted = np.log(found).transpose(1, 0, 2) - logits
    np.testing.assert_allclose(shifted, np.broadcast_to(shifted[..., :1], shifted.shape), atol=1e-5)


def test_weights_are_initialised_as_configured() -> None:
    customised = CTCHead(16, out_channels=600, weight_init="crnn_customised", bias_init="crnn_customised")
    for value in (customised.dense1.weight.asnumpy(), customised.dense1.bias.asnumpy()):
        assert np.abs(value).max() == pytest.approx(1 / sqrt(16), rel=0.05)
        assert np.abs(value).mean() == pytest.approx(1 / sqrt(16) / 2, rel=0.1)
    plain = CTCHead(16, out_channels=600)
    assert plain.dense1.weight.asnumpy().std() == pytest.approx(0.01, rel=0.1)
    assert not plain.dense1.bias.asnumpy().any()
