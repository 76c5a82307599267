"""The composition of detectors."""

import pytest

from hccl_kit.ocr.config import schema
from hccl_kit.ocr.models import detector
from hccl_kit.ocr.models.fpn import Join
from hccl_kit.ocr.models.ppocr import pages
from hccl_kit.ocr.models.pse import PSEFPN

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
