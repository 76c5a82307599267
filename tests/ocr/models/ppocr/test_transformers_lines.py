"""The recognisers against those of the package `transformers` with random weights, in both forms.

The weights are loaded like those of a user: from a file that `model.pretrained` names.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.adapt import pretrained
from hccl_kit.ocr.models.ppocr import lcnet_v3, lcnet_v4, lines
from tests.ocr.models.ppocr.test_lines import MOBILE, SMALL, TINY
from tests.ocr.models.ppocr.theirs import block_configs, randomised
from tests.on_use import on_use

torch = on_use("torch")
safetensors = on_use("safetensors.torch")
transformers = on_use("transformers", "5.8")

pytestmark = [pytest.mark.train, pytest.mark.torch, pytest.mark.usefixtures("pynative")]

CLASSES = 30


def tiny() -> Any:
    backbone = transformers.PPLCNetV4Config(
        block_configs=block_configs(lcnet_v4.LINES["tiny"]),
        stem_channels=[3, 24, 48],
        stem_type="small",
        out_features=["stage4"],
    )
    config = transformers.PPOCRV6TinyRecConfig(backbone_config=backbone, hidden_size=80, head_out_channels=CLASSES)
    return transformers.PPOCRV6TinyRecForTextRecognition(config)


def small() -> Any:
    backbone = transformers.PPLCNetV4Config(
        block_configs=block_configs(lcnet_v4.LINES["small"]), out_features=["stage4"]
    )
    config = transformers.PPOCRV6SmallRecConfig(backbone_config=backbone, head_out_channels=CLASSES)
    return transformers.PPOCRV6SmallRecForTextRecognition(config)


def mobile() -> Any:
    before, stages = lcnet_v3.STEM, []
    for stage in lcnet_v3.LINES:
        rows = []
        for block in stage:
            stride = list(block.stride) if isinstance(block.stride, tuple) else block.stride
            rows.append([block.kernel, before, block.channels, stride, block.squeeze])
            before = block.channels
        stages.append(rows)
    backbone = transformers.PPLCNetV3Config(block_configs=stages, scale=0.95, divisor=16, out_features=["stage5"])
    config = transformers.PPOCRV5MobileRecConfig(backbone_config=backbone, head_out_channels=CLASSES)
    return transformers.PPOCRV5MobileRecForTextRecognition(config)


@pytest.mark.parametrize(
    ("model", "reference", "steep", "branches"),
    [
        pytest.param(TINY, tiny, 10, False, id="tiny"),
        pytest.param(TINY, tiny, 10, True, id="tiny with branches", marks=pytest.mark.long),
        pytest.param(SMALL, small, 2, False, id="small", marks=pytest.mark.long),
        pytest.param(SMALL, small, 2, True, id="small with branches"),
        pytest.param(MOBILE, mobile, 10, False, id="mobile", marks=pytest.mark.long),
        pytest.param(MOBILE, mobile, 10, True, id="mobile with branches"),
    ],
)
def test_probabilities_match_transformers(
    model: Mapping[str, Any], reference: Any, steep: float, branches: bool, tmp_path: Path
) -> None:
    theirs = randomised(reference(), steep)
    images = np.random.default_rng(0).uniform(-1, 1, (2, 3, 48, 70)).astype(np.float32)
    with torch.no_grad():
        expected = theirs(torch.from_numpy(images)).last_hidden_state.numpy()
    ours = lines.build(
        {
            **model,
            "backbone": {**model["backbone"], "branches": branches},
            "head": {"name": "CTCHead", "out_channels": CLASSES},
        }
    )
    safetensors.save_file(theirs.state_dict(), tmp_path / "model.safetensors")
    notes = pretrained.load(tmp_path / "model.safetensors", ours, strict=True)
    assert any("names of transformers" in note for note in notes)
    read = ours.set_train(False)(Tensor(images)).asnumpy()
    assert expected.std(axis=1).max() > 0.01
    assert 0.1 < np.median(expected.max(axis=2)) < 0.9
    assert np.abs(np.roll(read, 1, axis=2) - expected).max() < 1e-4
