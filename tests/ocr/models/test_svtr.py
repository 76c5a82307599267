"""SVTR: the outputs of the reference for the same weights, and properties of its blocks."""

from typing import Any

import numpy as np
import pytest
from mindspore import Tensor, nn

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.models import dropout, svtr
from hccl_kit.ocr.models.dropout import DropPath
from hccl_kit.ocr.models.svtr import SvtrShape, window
from tests.ocr.models import golden
from tests.ocr.reference import reference_arrays

pytestmark = pytest.mark.train

MODELS: dict[str, dict[str, Any]] = {
    "svtr_tiny": {
        "transform": {
            "name": "STN_ON",
            "in_channels": 3,
            "tps_inputsize": [32, 64],
            "tps_outputsize": [32, 100],
            "num_control_points": 20,
            "tps_margins": [0.05, 0.05],
            "stn_activation": "none",
        },
        "backbone": {
            "name": "SVTRNet",
            "pretrained": False,
            "img_size": [32, 100],
            "out_channels": 192,
            "patch_merging": "Conv",
            "embed_dim": [64, 128, 256],
            "depth": [3, 6, 3],
            "num_heads": [2, 4, 8],
            "mixer": ["Local"] * 6 + ["Global"] * 6,
            "local_mixer": [[7, 11], [7, 11], [7, 11]],
            "last_stage": True,
            "prenorm": False,
        },
        "neck": {"name": "Img2Seq"},
        "head": {"name": "CTCHead", "out_channels": 37},
    },
    "svtr_tiny_ch": {
        "transform": None,
        "backbone": {"name": "SVTRNet", "img_size": [32, 320], "out_channels": 96},
        "neck": {"name": "Img2Seq"},
        "head": {"name": "CTCHead", "out_channels": 6624},
    },
}
SMALL: dict[str, Any] = {
    "transform": {"name": "STN_ON", "tps_outputsize": [16, 32]},
    "backbone": {
        "name": "SVTRNet",
        "img_size": [16, 32],
        "embed_dim": [8, 16, 32],
        "depth": [1, 1, 1],
        "mixer": ["Local", "Global", "Global"],
        "out_channels": 24,
    },
    "neck": {"name": "Img2Seq"},
    "head": {"name": "CTCHead", "out_channels": 11},
}
TRAINABLE = {"svtr_tiny": 6_021_133, "svtr_tiny_ch": 4_806_336}


def filled(model: dict[str, Any]) -> nn.Cell:
    """Weights with the first points on the edges of the image: those of the formula are nearly equal."""
    network = svtr.build(model)
    start = network.transform.stn_head.stn_fc2.bias.asnumpy()
    golden.fill(network)
    last = network.transform.stn_head.stn_fc2
    last.weight.set_data(Tensor(0 * last.weight.asnumpy()))
    last.bias.set_data(Tensor(start))
    return network


@pytest.mark.parametrize("name", MODELS)
def test_parameters_match_the_reference(name: str) -> None:
    """Names, shapes and order, so that its checkpoints load."""
    network = svtr.build(MODELS[name])
    assert golden.parameters_of(network) == golden.parameter_table(name)
    assert sum(parameter.size for parameter in network.trainable_params()) == TRAINABLE[name]


@pytest.mark.usefixtures("pynative")
def test_outputs_match_the_reference() -> None:
    expected = reference_arrays("svtr_tiny.npz")
    network = svtr.build(MODELS["svtr_tiny"])
    golden.fill(network)
    images = golden.images(expected["input_shape"])
    network.set_train(False)
    # a single thread sums in another order: off by 1.1e-4, and by 2.2e-4 before the softmax
    golden.assert_close_in_sum(network(images).asnumpy(), expected["eval0"], "eval", share=2e-4)
    network.head.set_train(True)
    golden.assert_close(network(images).asnumpy(), expected["headtrain0"], "headtrain", share=5e-4)


@pytest.mark.usefixtures("pynative")
def test_outputs_with_points_on_the_edges_match_the_reference() -> None:
    expected = reference_arrays("svtr_tiny.npz")
    network = filled(MODELS["svtr_tiny"])
    images = golden.images(expected["input_shape"])
    network.set_train(False)
    straight = network.transform(images).asnumpy()[..., ::2, ::4]
    golden.assert_close(straight, expected["identity_stn_transform"], "rectified")
    golden.assert_close_in_sum(network(images).asnumpy(), expected["identity_stn_eval0"], "eval")


def test_graph_and_pynative_mode_agree() -> None:
    network = filled(SMALL)
    network.set_train(False)
    golden.assert_modes_agree(network, golden.images((2, 3, 24, 80)))


@pytest.mark.usefixtures("pynative")
def test_gradients_reach_every_parameter() -> None:
    """Including the control points and, once their last layer is not zero any more, all layers before."""
    network = filled({**SMALL, "backbone": {**SMALL["backbone"], "drop_path_rate": 0.0, "last_drop": 0.0}})
    last = network.transform.stn_head.stn_fc2
    last.weight.set_data(Tensor(0.01 * golden.weight(last.weight.name, last.weight.shape)))
    network.set_train(False)
    network.head.set_train(True)
    assert golden.without_gradient(network, golden.images((2, 3, 24, 80))) == []


@pytest.mark.usefixtures("pynative")
def test_training_depends_on_the_keys_and_evaluation_does_not() -> None:
    network = filled(SMALL)
    images = golden.images((2, 3, 24, 80))
    network.set_train(False)
    np.testing.assert_array_equal(network(images).asnumpy(), network(images).asnumpy())
    network.set_train(True)
    assert network(images).shape == (svtr.sequence_length(32), 2, 11)
    found = []
    for seed in (1, 2, 1):
        dropout.draw(dropout.cells(network), np.random.default_rng(seed))
        found.append(network(images).asnumpy())
    assert np.abs(found[0] - found[1]).max() > 0
    np.testing.assert_array_equal(found[0], found[2])


def test_the_rectifier_output_has_the_input_size_of_the_backbone() -> None:
    with pytest.raises(KitError, match=r"tps_outputsize \[32, 100\].*img_size \[16, 32\]"):
        svtr.build({**SMALL, "transform": {"name": "STN_ON"}})


def test_a_window_contains_the_neighbours_of_each_patch() -> None:
    """In a grid of 3 rows and 5 columns, a window 3 high and 5 wide around a corner and around the middle."""
    allowed = (window((3, 5), (3, 5)) == 0).reshape(3, 5, 3, 5)
    np.testing.assert_array_equal(allowed[0, 0], [[1, 1, 1, 0, 0]] * 2 + [[0] * 5])
    assert allowed[1, 2].all()
    assert set(np.unique(window((3, 5), (3, 5)))) == {0, -np.inf}


@pytest.mark.usefixtures("pynative")
def test_stochastic_depth_drops_a_branch_for_some_samples() -> None:
    """For whole samples; the others are scaled so that the mean is unchanged."""
    cell = DropPath(0.25)
    cell.set_train(True)
    found = cell(Tensor(np.ones((400, 2, 3), np.float32))).asnumpy().reshape(400, 6)
    assert set(np.round(np.unique(found), 4)) == {0, np.float32(1.3333)}
    assert (found == found[:, :1]).all()
    assert (found[:, 0] == 0).mean() == pytest.approx(0.25, abs=0.08)
    cell.set_train(False)
    assert (cell(Tensor(np.ones((3, 2, 2), np.float32))).asnumpy() == 1).all()


def test_the_height_halves_from_stage_to_stage() -> None:
    shape = SvtrShape(img_size=[48, 64])
    assert [shape.grid(stage) for stage in range(3)] == [(12, 16), (6, 16), (3, 16)]


def test_every_block_belongs_to_one_stage() -> None:
    shape = SvtrShape()
    assert [list(shape.blocks(stage)) for stage in range(3)] == [[0, 1, 2], [3, 4, 5, 6, 7, 8], [9, 10, 11]]


def test_the_rate_of_stochastic_depth_grows_to_the_configured_one() -> None:
    shape = SvtrShape(drop_path_rate=0.22)
    assert [shape.drop_path(block) for block in range(12)] == pytest.approx([0.02 * block for block in range(12)])
    assert SvtrShape(depth=(1, 0, 0), mixer=("Local",)).drop_path(0) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"img_size": [40, 100]}, r"img_size is \[40, 100\]"),
        ({"img_size": [32, 102]}, "img_size"),
        ({"embed_dim": [64, 128, 250]}, "embed_dim"),
        ({"mixer": ["Local"]}, "12 values"),
        ({"local_mixer": [[7, 11], [6, 11], [7, 11]]}, "odd"),
    ],
)
def test_inconsistent_values_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(KitError, match=message) as refused:
        SvtrShape(**options)
    assert refused.value.hint
