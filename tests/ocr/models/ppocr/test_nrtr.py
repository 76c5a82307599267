"""The guiding decoder: its masking, its size, and that inference does not use it."""

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn, ops

from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.losses.lines import MultiLoss
from hccl_kit.ocr.models.ppocr import lines, nrtr
from hccl_kit.ocr.run.start import CALL_DEPTH
from hccl_kit.ocr.tasks.text_heads import MULTI
from hccl_kit.ocr.train import optimizer
from hccl_kit.ocr.train.step import TrainStep
from tests.ocr.models.ppocr.test_lines import SMALL
from tests.ocr.tiny import OPTIMIZER

pytestmark = pytest.mark.train

MODEL = {
    **SMALL,
    "backbone": {"name": "rec_pplcnet_v4", "size": "tiny"},
    "head": {"name": "MultiHead", "out_channels": 11, "nrtr_dims": 64, "nrtr_layers": 2},
}
IMAGES = np.random.default_rng(0).standard_normal((2, 3, 48, 64)).astype(np.float32)
LABELS = [(0, 2, 1), (4,)]


class Columns(nn.Cell):
    """A neck that only moves axes."""

    def construct(self, features: Tensor) -> Tensor:
        return ops.transpose(ops.squeeze(features, 2), (2, 0, 1))


def test_the_decoder_has_the_published_size() -> None:
    """Four layers of 384 channels with 18,713 tokens, each with two attentions, an MLP and three normalisations."""
    dims, tokens, channels = 384, 18713, 384
    layer = 2 * 4 * (dims * dims + dims) + 8 * dims * dims + 5 * dims + 3 * 2 * dims
    decoder = nrtr.Decoder(channels, tokens, dims=dims, layers=4)
    assert sum(p.size for p in decoder.get_parameters()) == channels * dims + 2 * tokens * dims + 4 * layer


@pytest.mark.usefixtures("pynative")
def test_a_token_depends_only_on_previous_tokens() -> None:
    decoder = nrtr.Decoder(8, 9, dims=64, layers=2).set_train(False)
    features = Tensor(np.random.default_rng(0).standard_normal((1, 8, 1, 5)).astype(np.float32))
    one, other = (decoder(features, Tensor([[2, 4, last, 5, 3]])).asnumpy() for last in (6, 7))
    assert one.shape == (1, 4, 9)
    assert np.array_equal(one[:, :2], other[:, :2])
    assert np.abs(one[:, 2:] - other[:, 2:]).min() > 0


@pytest.mark.usefixtures("pynative")
def test_training_has_both_outputs_and_inference_only_ctc() -> None:
    guided, plain = lines.build(MODEL), lines.build({**MODEL, "head": {"name": "CTCHead", "out_channels": 11}})
    own = {parameter.name: parameter for parameter in guided.get_parameters()}
    for parameter in plain.get_parameters():
        parameter.set_data(own[parameter.name])
    targets = [Tensor(array) for array in MULTI.targets(LABELS, 6)]
    of_ctc, of_decoder = guided.set_train(True)(Tensor(IMAGES), *targets)
    assert (of_ctc.shape, of_decoder.shape) == ((8, 2, 11), (2, 7, 14))
    read = guided.set_train(False)(Tensor(IMAGES)).asnumpy()
    assert np.array_equal(read, plain.set_train(False)(Tensor(IMAGES)).asnumpy())


def test_training_lowers_the_loss_of_both_and_every_parameter_has_a_gradient() -> None:
    ms.set_recursion_limit(CALL_DEPTH)
    backbone = nn.Conv2d(3, 8, (48, 8), stride=(48, 8), pad_mode="valid")
    guided = nrtr.GuidedNetwork(backbone, Columns(), nrtr.MultiHead(8, 8, out_channels=11, nrtr_dims=32, nrtr_layers=1))
    step = TrainStep(guided, MultiLoss(10, nrtr.PADDING), optimizer.build({**OPTIMIZER, "opt": "adam"}, guided))
    batch = Batch(IMAGES, MULTI.targets(LABELS, 6), ())
    losses = [step(batch, 1e-2, seed=(number,)).loss for number in range(20)]
    assert losses[-1] < 0.6 * losses[0]
    assert step.without_gradient == []
