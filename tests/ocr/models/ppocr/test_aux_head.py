"""Auxiliary heads at the levels of the pyramid: maps in training, none in inference, and gradients for all."""

from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.losses.pages import AuxDBLoss
from hccl_kit.ocr.models.network import Network
from hccl_kit.ocr.models.ppocr import pages
from hccl_kit.ocr.run.start import CALL_DEPTH
from hccl_kit.ocr.train import optimizer
from hccl_kit.ocr.train.step import TrainStep
from tests.ocr.models.ppocr.test_pages import MEDIUM, MOBILE, SMALL, TINY, count, image, in_form
from tests.ocr.tiny import OPTIMIZER

pytestmark = pytest.mark.train

NARROW: dict[str, dict[str, Any]] = {
    **MEDIUM,
    "backbone": TINY["backbone"],
    "neck": {**MEDIUM["neck"], "out_channels": 32},
}


def guided(model: dict[str, dict[str, Any]], *, branches: bool = False, **head: Any) -> Network:
    return in_form(model, branches=branches, name="AuxDBHead", **head)


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("model", [TINY, NARROW], ids=["tiny", "with RepLKPAN"])
def test_training_has_auxiliary_maps_and_inference_those_of_dbhead(model: dict[str, dict[str, Any]]) -> None:
    network, plain = guided(model), pages.build(model)
    own = network.parameters_dict()
    for parameter in plain.get_parameters():
        parameter.set_data(own[parameter.name])
    images = Tensor(image(64, 96))
    maps = network.set_train(True)(images)
    assert [tuple(one.shape) for one in maps] == [(1, 1, 64, 96)] * 12
    for one, other in zip(maps[:3], plain.set_train(True)(images), strict=True):
        assert np.array_equal(one.asnumpy(), other.asnumpy())
    finest = network.neck.sums(network.backbone(images))[3]
    for one, other in zip(maps[9:], network.head.levels[2](finest), strict=True):
        assert np.array_equal(one.asnumpy(), other.asnumpy())
    assert len({one.asnumpy().tobytes() for one in maps}) == 12
    assert np.array_equal(network.set_train(False)(images).asnumpy(), plain.set_train(False)(images).asnumpy())


def test_heads_have_the_sizes_of_paddleocr() -> None:
    """Eight branches with statistics, each with the parameter count of the modules of rapidocr 3.10.0."""
    assert count(guided(SMALL, branches=True).head) == 8 * 23_353


def test_a_network_for_inference_has_no_auxiliary_heads() -> None:
    assert count(guided(SMALL, adaptive=False)) == count(in_form(SMALL, branches=False, adaptive=False))


def losses(network: Network, replacement: str) -> list[float]:
    """The losses of two steps with two pages of one text; every parameter has a gradient."""
    loss = AuxDBLoss(bce_replace=replacement)
    step = TrainStep(network, loss, optimizer.build({**OPTIMIZER, "opt": "adam"}, network))
    text = np.zeros((2, 64, 64), np.float32)
    text[:, 8:20, 8:32] = 1
    images = np.concatenate([image(64, 64), image(64, 64)[..., ::-1]])
    batch = Batch(images, (text[:, None], np.ones_like(text), 0.3 + 0.4 * text, np.ones_like(text)), ())
    found = [step(batch, 1e-3, seed=(number,)).loss for number in range(2)]
    assert step.without_gradient == []
    return found


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize(
    ("model", "branches"),
    [
        pytest.param(TINY, True, id="tiny"),
        pytest.param(NARROW, False, id="with RepLKPAN", marks=pytest.mark.long),
    ],
)
def test_training_lowers_the_loss_and_every_parameter_has_a_gradient(
    model: dict[str, dict[str, Any]], branches: bool
) -> None:
    found = losses(guided(model, branches=branches), "dicefocalloss")
    assert found[-1] < 0.995 * found[0]


@pytest.mark.long
@pytest.mark.usefixtures("pynative")
def test_the_mobile_detector_can_be_trained() -> None:
    found = losses(in_form(MOBILE, branches=True), "diceloss")
    assert found[-1] < 0.995 * found[0]


@pytest.mark.long
def test_it_can_be_trained_in_graph_mode() -> None:
    ms.set_recursion_limit(CALL_DEPTH)
    found = losses(guided(NARROW, branches=True), "dicefocalloss")
    assert found[-1] < 0.995 * found[0]
