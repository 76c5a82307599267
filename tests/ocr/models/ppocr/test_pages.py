"""The detectors of PP-OCR: equality with the published file, shapes, and the maps of training."""

import re
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor
from numpy.typing import NDArray

from hccl_kit.ocr import rapidocr
from hccl_kit.ocr.adapt import pretrained
from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.losses.pages import AuxDBLoss
from hccl_kit.ocr.models.network import Network
from hccl_kit.ocr.models.ppocr import pages
from hccl_kit.ocr.run.start import CALL_DEPTH
from hccl_kit.ocr.train import optimizer
from hccl_kit.ocr.train.step import TrainStep
from tests.ocr.tiny import OPTIMIZER

pytestmark = [pytest.mark.train, pytest.mark.usefixtures("pynative")]

HEAD = {"name": "DBHead", "k": 50, "bias": True, "adaptive": True, "k_scales_threshold": True}
SMALL: dict[str, dict[str, Any]] = {
    "backbone": {"name": "det_pplcnet_v4", "size": "small"},
    "neck": {"name": "RepLKFPN", "out_channels": 96, "kernel": 7},
    "head": HEAD,
}
TINY: dict[str, dict[str, Any]] = {
    "backbone": {"name": "det_pplcnet_v4", "size": "tiny"},
    "neck": {"name": "RepLKFPN", "out_channels": 64, "kernel": 5},
    "head": HEAD,
}
MEDIUM: dict[str, dict[str, Any]] = {
    "backbone": {"name": "det_pplcnet_v4", "size": "medium"},
    "neck": {"name": "RepLKPAN", "out_channels": 256, "kernel": 9},
    "head": HEAD,
}
MOBILE: dict[str, dict[str, Any]] = {
    "backbone": {"name": "det_pplcnet_v3", "scale": 0.75},
    "neck": {"name": "RSEFPN", "out_channels": 96},
    "head": HEAD,
}
ALL = {"tiny": TINY, "small": SMALL, "medium": MEDIUM, "mobile": MOBILE}


def image(height: int, width: int) -> NDArray[np.float32]:
    """Dark bars of text on a light page, in the range of normalised pixels."""
    generator = np.random.default_rng(height * width)
    page = generator.normal(0.7, 0.1, (1, 3, height, width)).astype(np.float32)
    for top in range(8, height - 16, 24):
        page[..., top : top + 12, 8 : width // 2] -= generator.random((1, 1, 12, width // 2 - 8)) > 0.5
    return page


def test_outputs_match_the_published_file() -> None:
    """All weights except the training branch, and the outputs, also for images that are not square or minimal."""
    pytest.importorskip("rapidocr")
    onnxruntime = pytest.importorskip("onnxruntime")
    file = rapidocr.path("rapidocr:det")
    network = pages.build(SMALL)
    notes = pretrained.load(file, network, strict=False)
    assert re.fullmatch("6 not in the file: head.thresh.0.weight, .*", notes[-1])
    network.set_train(False)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    for size in ((160, 224), (32, 32), (96, 352)):
        (expected,) = session.run(None, {"x": image(*size)})
        assert expected.shape == (1, 1, *size)
        assert np.abs(network(Tensor(image(*size))).asnumpy() - expected).max() < 1e-5, size


def train(network: Network) -> Any:
    return network.set_train(True)(Tensor(image(64, 32)))


def test_outputs_do_not_depend_on_the_batch() -> None:
    """There are no batch statistics: an image has the same maps alone and with others."""
    network = pages.build(SMALL)
    assert not [name for name in network.parameters_dict() if "gamma" in name or "moving" in name]
    both = np.concatenate([image(64, 32), 3 * image(64, 32)])
    alone = train(network)[0].asnumpy()
    assert np.allclose(network(Tensor(both))[0].asnumpy()[:1], alone, atol=1e-6)


def in_form(model: dict[str, dict[str, Any]], *, branches: bool, **head: Any) -> Network:
    return pages.build(
        {**model, "backbone": {**model["backbone"], "branches": branches}, "head": {**model["head"], **head}}
    )


def count(cell: Any) -> int:
    return sum(parameter.size for parameter in cell.get_parameters())


@pytest.mark.parametrize("model", ALL.values(), ids=ALL)
def test_every_size_gives_one_map_of_the_size_of_the_image(model: dict[str, dict[str, Any]]) -> None:
    assert pages.build(model).set_train(False)(Tensor(image(64, 96))).shape == (1, 1, 64, 96)


@pytest.mark.parametrize(
    ("name", "backbone", "neck", "head"),
    [
        ("tiny", 393_644, 46_736, 20_898),
        ("small", 2_348_892, 139_992, 46_706),
        ("medium", 14_178_048, 1_351_424, 329_346),
        ("mobile", 3_379_504 - 8, 144_600, 46_706),
    ],
)
def test_the_number_of_parameters_with_branches_matches_paddleocr(
    name: str, backbone: int, neck: int, head: int
) -> None:
    """Counted in the PyTorch modules of rapidocr 3.10.0, including the statistics of normalisations.

    Its PP-OCRv5 backbone has an additional scale and offset after each of the four convolutions without hard-swish,
    which are unused.
    """
    network = in_form(ALL[name], branches=True)
    assert (count(network.backbone), count(network.neck), count(network.head)) == (backbone, neck, head)


def test_the_number_of_folded_parameters_is_the_published_one() -> None:
    """The ONNX file of PP-OCRv5 mobile has 1,171,721 weights, among them three normalisations that are not folded."""
    of_normalisations = (4 - 1) * 16 + (4 - 1) * 24 + 4 * 24
    assert count(in_form(MOBILE, branches=False, adaptive=False)) == 1_171_721 - of_normalisations


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
