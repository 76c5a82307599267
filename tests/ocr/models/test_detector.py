"""The composition of detectors."""

import numpy as np
import pytest
from mindspore import nn

from hccl_kit.ocr.config import schema
from hccl_kit.ocr.models import detector
from hccl_kit.ocr.models.detector import BACKBONES, pad
from hccl_kit.ocr.models.fpn import Join
from hccl_kit.ocr.models.ppocr import pages
from hccl_kit.ocr.models.pse import PSEFPN
from tests.ocr.models import golden

pytestmark = pytest.mark.train


def test_backbones_match_the_schema() -> None:
    rules = schema.root()["$defs"]["det_model"]["properties"]["backbone"]["properties"]["name"]
    assert [*detector.BACKBONES, *pages.BACKBONES] == rules["enum"]


def test_parts_get_their_options_and_the_channels_of_the_previous_part() -> None:
    given: list[tuple[int, int]] = []

    def head(channels: int, *, width: int) -> Join:
        given.append((channels, width))
        return Join()

    parts = {"backbone": {"name": "det_resnet18", "pretrained": True}, "neck": {"name": "PSEFPN", "out_channels": 4}}
    network = detector.build({**parts, "head": {"name": "mine", "width": 3}}, neck=PSEFPN, head=head)
    assert given == [(16, 3)]
    assert network.neck.reduce_conv_c2.in_channels == 64


def test_the_first_pooling_matches_the_reference() -> None:
    """After ReLU, "same" padding of even sides equals zeros at the bottom and on the right."""
    values = golden.images((1, 2, 8, 12)).abs()
    same = nn.MaxPool2d(3, 2, pad_mode="same")(values)
    np.testing.assert_array_equal(nn.MaxPool2d(3, 2)(pad(values)).asnumpy(), same.asnumpy())


def test_convolutions_use_he_initialisation() -> None:
    """Normal, with a variance of two over the number of outputs."""
    weights = {p.name: p.asnumpy() for p in BACKBONES["det_resnet18"]().get_parameters()}
    for name, fan in [("conv1.weight", 64 * 49), ("layer3.0.conv1.weight", 256 * 9)]:
        assert weights[name].std() == pytest.approx(np.sqrt(2 / fan), rel=0.05)
    assert (weights["layer3.0.bn1.gamma"] == 1).all()
