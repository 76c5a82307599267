"""The recognisers of PP-OCR: sizes and shapes."""

from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.models.ppocr import lcnet_v4, lines

pytestmark = pytest.mark.train

SMALL: dict[str, dict[str, Any]] = {
    "backbone": {"name": "rec_pplcnet_v4", "size": "small"},
    "neck": {"name": "LightSVTR", "dims": 120, "depth": 2, "mlp_ratio": 2.0, "local_kernel": 7, "dropout": 0.1},
    "head": {"name": "CTCHead", "out_channels": 18710},
}
TINY: dict[str, dict[str, Any]] = {
    "backbone": {"name": "rec_pplcnet_v4", "size": "tiny"},
    "neck": {"name": "CTCGuide", "dims": 80},
    "head": {"name": "CTCHead", "out_channels": 6906},
}
MEDIUM: dict[str, dict[str, Any]] = {
    "backbone": {"name": "rec_pplcnet_v4", "size": "medium"},
    "neck": {"name": "LightSVTR", "dims": 192, "depth": 2, "mlp_ratio": 4.0, "local_kernel": 7, "dropout": 0.1},
    "head": {"name": "CTCHead", "out_channels": 18710},
}
MOBILE: dict[str, dict[str, Any]] = {
    "backbone": {"name": "rec_pplcnet_v3", "scale": 0.95},
    "neck": {"name": "SVTREncoder", "dims": 120, "depth": 2, "mlp_ratio": 2.0, "local_kernel": 3, "dropout": 0.1},
    "head": {"name": "CTCHead", "out_channels": 18385},
}
PUBLISHED = 5_267_683 - 53
"""Values in the file of the small recogniser; 53 of them are constants of its operators."""


def size(model: dict[str, dict[str, Any]], *, branches: bool) -> int:
    network = lines.build({**model, "backbone": {**model["backbone"], "branches": branches}})
    return sum(parameter.size for parameter in network.get_parameters())


def test_the_number_of_parameters_is_the_published_one() -> None:
    assert size(SMALL, branches=False) == PUBLISHED
    assert size(MOBILE, branches=False) == 4_113_133  # 4.11 million in the ONNX file of PP-OCRv5 mobile


@pytest.mark.parametrize(("model", "expected"), [(TINY, 1_119_614), (SMALL, 5_310_278), (MEDIUM, 19_218_102)])
def test_the_number_of_parameters_with_branches_matches_paddleocr(
    model: dict[str, dict[str, Any]], expected: int
) -> None:
    """Counted in the PyTorch modules of rapidocr 3.10.0, including the statistics of normalisations."""
    assert size(model, branches=True) == expected


@pytest.mark.parametrize(("width", "steps"), [(320, 40), (321, 40), (326, 41), (40, 5)])
def test_the_number_of_time_steps_follows_from_the_width(width: int, steps: int) -> None:
    """The widths of the fact sheet, which were measured on the published file."""
    assert lcnet_v4.sequence_length(width) == steps


@pytest.mark.usefixtures("pynative")
@pytest.mark.parametrize("size", lcnet_v4.LINES)
def test_the_backbone_output_has_the_expected_time_steps(size: str) -> None:
    backbone = lcnet_v4.LineBackbone(size=size)
    features = backbone(Tensor(np.zeros((1, 3, 48, 61), np.float32)))
    assert features.shape == (1, backbone.out_channels, 1, lcnet_v4.sequence_length(61))


@pytest.mark.usefixtures("pynative")
def test_outputs_are_logits_in_training_and_probabilities_in_evaluation() -> None:
    network = lines.build({**SMALL, "head": {"name": "CTCHead", "out_channels": 11}})
    images = Tensor(np.random.default_rng(0).standard_normal((2, 3, 48, 64)).astype(np.float32))
    assert network.set_train(True)(images).shape == (8, 2, 11)
    read = network.set_train(False)(images)
    assert read.shape == (2, 8, 11)
    assert np.allclose(ms.ops.sum(read, 2).asnumpy(), 1, atol=1e-5)


def test_a_line_has_the_same_output_in_batches_of_any_size() -> None:
    network = lines.build({**SMALL, "head": {"name": "CTCHead", "out_channels": 11}}).set_train(False)
    random = np.random.default_rng(0)
    for one in network.get_parameters():
        if one.ndim > 1:  # large enough that the image still has an effect on the output
            one.set_data(Tensor((random.normal(size=one.shape) * 2 / one[0].size ** 0.5).astype(np.float32)))
    network.set_inputs(Tensor(shape=(None, 3, None, None), dtype=ms.float32))
    for width in (64, 96):
        images = random.normal(size=(4, 3, 48, width)).astype(np.float32)
        together = network(Tensor(images)).asnumpy()
        for image, read in zip(images, together, strict=True):
            np.testing.assert_allclose(network(Tensor(image[None])).asnumpy()[0], read, atol=1e-5)
        assert np.abs(together[0] - together[1]).max() > 1e-2
    assert len(network.compile_cache) == 1
