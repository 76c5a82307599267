"""The detectors against those of the package `transformers` with random weights, in both forms.

The weights are loaded like those of a user: from a file that `model.pretrained` names.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.adapt import pretrained
from hccl_kit.ocr.models.ppocr import lcnet_v3, lcnet_v4, pages
from tests.ocr.models.ppocr.test_pages import MEDIUM, MOBILE, SMALL, TINY
from tests.ocr.models.ppocr.theirs import block_configs, randomised
from tests.on_use import on_use

torch = on_use("torch")
safetensors = on_use("safetensors.torch")
transformers = on_use("transformers", "5.8")

pytestmark = [pytest.mark.train, pytest.mark.torch, pytest.mark.usefixtures("pynative")]

SIDES = ("long", 7), ("mid", 5), ("short", 3)
INTRA_CL = {
    "reduce_channel": [1, 1, 0],
    "return_channel": [1, 1, 0],
    **{f"symmetric_conv_long_{name}ratio": [side, 1, side // 2] for name, side in SIDES},
    **{f"vertical_long_to_small_conv_{name}ratio": [(side, 1), 1, (side // 2, 0)] for name, side in SIDES},
    **{f"horizontal_small_to_long_conv_{name}ratio": [(1, side), 1, (0, side // 2)] for name, side in SIDES},
}
"""Kernel, stride and padding of each convolution, as in PaddleOCR's `IntraCLBlock`."""


def backbone_v4(size: str) -> Any:
    shape = lcnet_v4.PAGES[size]
    return transformers.PPLCNetV4Config(
        block_configs=block_configs(shape),
        stem_channels=[3, *shape.stem],
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )


def level_by_level(model: dict[str, Any]) -> Any:
    size, neck = model["backbone"]["size"], model["neck"]
    config = transformers.PPOCRV6SmallDetConfig(
        backbone_config=backbone_v4(size),
        neck_out_channels=neck["out_channels"],
        dilated_kernel_size=neck["kernel"],
        layer_list_out_channels=[stage.channels for stage in lcnet_v4.PAGES[size].stages],
    )
    return transformers.PPOCRV6SmallDetForObjectDetection(config)


def down_and_up(model: dict[str, Any]) -> Any:
    config = transformers.PPOCRV6MediumDetConfig(
        backbone_config=backbone_v4("medium"),
        neck_out_channels=model["neck"]["out_channels"],
        intraclass_block_config=INTRA_CL,
        scale_factor_list=[1, 2, 4, 8],
        kernel_list=[3, 2, 2],
    )
    return transformers.PPOCRV6MediumDetForObjectDetection(config)


def mobile(_: dict[str, Any]) -> Any:
    """The only class whose default has the sizes of the published network."""
    return transformers.PPOCRV5MobileDetForObjectDetection(transformers.PPOCRV5MobileDetConfig())


def as_products(network: Any) -> None:
    """Replaces its dense large kernels by those of PaddleOCR: products of a depthwise and a pointwise convolution."""
    for name, value in network.state_dict().items():
        if value.ndim == 4 and value.shape[-1] == 9:
            assert "projection" in name or "lateral" in name
            depthwise = torch.randn(1, value.shape[1], 9, 9) / 9
            pointwise = torch.randn(value.shape[0], value.shape[1], 1, 1) / value.shape[1] ** 0.5
            value.copy_(depthwise * pointwise)


@pytest.mark.parametrize(
    ("model", "reference", "branches"),
    [
        pytest.param(TINY, level_by_level, False, id="tiny"),
        pytest.param(TINY, level_by_level, True, id="tiny with branches", marks=pytest.mark.long),
        pytest.param(SMALL, level_by_level, False, id="small", marks=pytest.mark.long),
        pytest.param(SMALL, level_by_level, True, id="small with branches"),
        pytest.param(MEDIUM, down_and_up, False, id="medium", marks=pytest.mark.long),
        pytest.param(MEDIUM, down_and_up, True, id="medium with branches", marks=pytest.mark.long),
        pytest.param(MOBILE, mobile, False, id="mobile", marks=pytest.mark.long),
        pytest.param(MOBILE, mobile, True, id="mobile with branches"),
    ],
)
def test_maps_match_transformers(model: dict[str, Any], reference: Any, branches: bool, tmp_path: Path) -> None:
    theirs = randomised(reference(model))
    as_products(theirs)
    images = np.random.default_rng(0).uniform(-1, 1, (2, 3, 64, 96)).astype(np.float32)
    with torch.no_grad():
        expected = theirs(torch.from_numpy(images)).last_hidden_state.numpy()
    safetensors.save_file(theirs.state_dict(), tmp_path / "model.safetensors")
    ours = pages.build(
        {
            **model,
            "backbone": {**model["backbone"], "branches": branches},
            "head": {**model["head"], "adaptive": False},
        }
    )
    notes = pretrained.load(tmp_path / "model.safetensors", ours, strict=True)
    assert any("names of transformers" in note for note in notes)
    found = ours.set_train(False)(Tensor(images)).asnumpy()
    assert expected.std() > 0.01
    assert np.abs(found - expected).max() < 1e-5


def test_a_large_kernel_that_is_not_a_product_is_reported_as_missing(tmp_path: Path) -> None:
    theirs = randomised(down_and_up(MEDIUM))
    safetensors.save_file(theirs.state_dict(), tmp_path / "model.safetensors")
    ours = pages.build({**MEDIUM, "head": {**MEDIUM["head"], "adaptive": False}})
    notes = pretrained.load(tmp_path / "model.safetensors", ours, strict=False)
    assert any("neck.project.0.depthwise.weight" in note for note in notes)


def test_the_mobile_backbone_has_its_default_sizes() -> None:
    config = transformers.PPOCRV5MobileDetConfig()
    assert tuple(config.layer_list_out_channels) == lcnet_v3.PageBackbone().out_channels
