"""DBNet and DBNet++: the outputs of the reference for the same weights, and properties of head and neck."""

from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor, nn, ops

from hccl_kit.ocr.models import db, detector
from hccl_kit.ocr.models.fpn import Enlarge, FeaturePyramid, ScaleFusion
from tests.ocr.models import golden
from tests.ocr.reference import reference_arrays

pytestmark = pytest.mark.train

NECK = {"name": "DBFPN", "out_channels": 256, "bias": False, "use_asf": False, "channel_attention": True}
HEAD = {"name": "DBHead", "k": 50, "bias": False, "adaptive": True, "k_scales_threshold": False}
MOBILE = {
    "name": "det_mobilenet_v3",
    "architecture": "large",
    "alpha": 0.5,
    "out_stages": [5, 8, 14, 20],
    "bottleneck_params": {"se_version": "SqueezeExciteV2", "always_expand": True},
    "disable_se": False,
    "pretrained": False,
}
MODELS: dict[str, dict[str, Any]] = {
    "db_r18": {"backbone": {"name": "det_resnet18", "pretrained": True}, "neck": NECK, "head": HEAD},
    "db_r50": {"backbone": {"name": "det_resnet50"}, "neck": NECK, "head": HEAD},
    "db_mobilenetv3": {"backbone": MOBILE, "neck": NECK, "head": HEAD},
    "dbpp_r50": {
        "backbone": {"name": "det_resnet50"},
        "neck": {**NECK, "use_asf": True},
        "head": HEAD,
    },
}
TRAINABLE = {"db_r18": 12_340_930, "db_r50": 25_409_730, "db_mobilenetv3": 1_844_136, "dbpp_r50": 25_559_564}


EACH_PART = [pytest.param(name, marks=pytest.mark.long if name == "db_r50" else ()) for name in MODELS]
"""The backbone of db_r50 is also that of dbpp_r50, and its head that of db_r18."""


def built(name: str) -> nn.Cell:
    return detector.build(MODELS[name], neck=FeaturePyramid, head=db.DBHead)


def head_of(channels: int, **options: Any) -> nn.Cell:
    plain = {key: value for key, value in HEAD.items() if key != "name"}
    return db.DBHead(channels, **{**plain, **options})


def train_head_only(network: nn.Cell) -> None:
    """The outputs of the head in training mode, with normalisation in evaluation mode."""
    network.set_train(False)
    network.head.add_flags(training=True)


def keep_the_only_channel_alive(network: nn.Cell) -> None:
    """The spatial attention has one channel before its ReLU: random negative weights would stop every gradient."""
    for parameter in network.trainable_params():
        if parameter.name == "neck.fuse.spat_att.0.weight":
            parameter.set_data(ops.abs(parameter))


def arrays(outputs: tuple[Tensor, ...]) -> list[Any]:
    return [output.asnumpy() for output in outputs]


@pytest.mark.parametrize("name", MODELS)
def test_parameters_match_the_reference(name: str) -> None:
    """Names, shapes and order, so that its checkpoints load."""
    network = built(name)
    assert golden.parameters_of(network) == golden.parameter_table(name)
    assert sum(parameter.size for parameter in network.trainable_params()) == TRAINABLE[name]


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("name", EACH_PART)
def test_outputs_match_the_reference(name: str) -> None:
    expected = reference_arrays(f"{name}.npz")
    network = built(name)
    golden.fill(network)
    images = golden.images(expected["input_shape"])
    network.set_train(False)
    golden.assert_close_in_sum(network(images).asnumpy(), expected["eval0"], "eval")
    logits = network.neck(network.backbone(images))
    for cell in list(network.head.segm)[:-1]:
        logits = cell(logits)
    golden.assert_close(logits.asnumpy()[..., ::2, ::2], expected["pre_head.segm.6"], "before the sigmoid")
    train_head_only(network)
    for index, found in enumerate(arrays(network(images))):
        golden.assert_close_in_sum(found[..., ::4, ::4], expected[f"headtrain{index}"], f"headtrain {index}")
    network.set_train(True)
    for index, found in enumerate(arrays(network(images))):
        golden.assert_close_in_sum(found[..., ::4, ::4], expected[f"train{index}"], f"train {index}")
    golden.assert_statistics(network, expected)


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("name", EACH_PART)
def test_outputs_without_saturation_match_the_reference(name: str) -> None:
    """With smaller weights at the end; the others saturate nearly all of the sigmoid to 0 or 1."""
    expected = reference_arrays(f"{name}.npz")
    network = built(name)
    golden.fill(network)
    for parameter in network.get_parameters():
        if parameter.name in expected["soft_names"]:
            parameter.set_data(parameter * float(expected["soft_scale"]))
    train_head_only(network)
    outputs = arrays(network(golden.images(expected["input_shape"])))
    for index, found in enumerate(outputs):
        golden.assert_close(found[..., ::2, ::2], expected[f"soft_headtrain{index}"], f"map {index}")


@pytest.mark.parametrize("name", [pytest.param("db_mobilenetv3", marks=pytest.mark.long), "db_r18"])
def test_graph_and_pynative_mode_agree(name: str) -> None:
    network = built(name)
    golden.fill(network)
    train_head_only(network)
    golden.assert_modes_agree(network, golden.images((1, 3, 64, 96)), share=1e-5)


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("name", ["db_r18", "db_mobilenetv3", "dbpp_r50"])
def test_gradients_reach_every_parameter(name: str) -> None:
    """With normalisation in evaluation mode: in training mode, it cancels a preceding bias."""
    ms.set_seed(1)  # some random weights stop the gradient at the only channel of the attention
    network = built(name)
    train_head_only(network)
    keep_the_only_channel_alive(network)
    assert golden.without_gradient(network, golden.images((1, 3, 64, 64))) == []


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize(("paper", "steep"), [(False, 1.0), (True, 10.0)])
def test_the_binary_map_is_computed_from_the_other_two(paper: bool, steep: float) -> None:
    head = head_of(16, k=10, k_scales_threshold=paper)
    head.set_train(True)
    probability, threshold, binary = arrays(head(golden.images((2, 16, 8, 8))))
    np.testing.assert_allclose(binary, 1 / (1 + np.exp(steep * threshold - 10 * probability)), rtol=1e-5)


@pytest.mark.usefixtures("pynative")
def test_a_head_without_adaptive_thresholds_has_no_threshold_map() -> None:
    head = head_of(16, adaptive=False)
    head.set_train(True)
    assert head(golden.images((2, 16, 8, 8))).shape == (2, 1, 32, 32)
    assert {parameter.name.split(".")[0] for parameter in head.get_parameters()} == {"segm"}


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_both_methods_of_upsampling_repeat_every_value(factor: int) -> None:
    x = golden.images((2, 3, 4, 5))
    expected = x.asnumpy().repeat(factor, axis=2).repeat(factor, axis=3)
    for by_convolution in (False, True):
        found = Enlarge(3, factor, by_convolution=by_convolution)(x).asnumpy()
        np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("channel_attention", [True, False])
def test_scale_fusion_weights_every_map_at_every_position(channel_attention: bool) -> None:
    fusion = ScaleFusion(8, channel_attention=channel_attention)
    maps = [np.random.default_rng(index).uniform(1, 2, (2, 8, 4, 4)).astype(np.float32) for index in range(4)]
    found = fusion(tuple(Tensor(x) for x in maps)).asnumpy()
    weights = (found / np.concatenate(maps, axis=1)).reshape(2, 4, 8, 4, 4)
    assert weights.min() > 0
    assert weights.max() < 1
    np.testing.assert_allclose(weights, np.broadcast_to(weights[:, :, :1], weights.shape), rtol=1e-4)
    names = {parameter.name.split(".")[0] for parameter in fusion.get_parameters()}
    assert ("chan_att" in names) == channel_attention
