"""Ways to outline: each head has one, and a picture shows its targets."""

from typing import Any

import numpy as np
import pytest

from hccl_kit.ocr import config
from hccl_kit.ocr.config import schema
from hccl_kit.ocr.data.pipeline import TRANSFORMS, pipeline
from hccl_kit.ocr.tasks import detection_heads
from hccl_kit.ocr.tasks.detection_heads import OUTLININGS
from tests.ocr.data.pages.test_pse_maps import page_of
from tests.places import ROOT

pytestmark = pytest.mark.train

TEXT = [[40, 30], [140, 30], [140, 70], [40, 70]]
IGNORED = [[40, 100], [140, 100], [140, 140], [40, 140]]
DRAWING: dict[str, list[dict[str, Any]]] = {
    "DBHead": [{"ShrinkBinaryMap": None}, {"BorderMap": None}],
    "PSEHead": [{"PSEGtDecode": {"min_shortest_edge": 160}}],
}


def names(rule: Any) -> Any:
    """What the schema accepts as the name of a part."""
    return rule["properties"]["name"]["enum"]


def test_every_head_has_a_way_and_every_way_a_name() -> None:
    rules = schema.root()["$defs"]
    assert list(OUTLININGS) == names(rules["det_model"]["properties"]["head"])
    assert [way.criterion for way in OUTLININGS.values()] == names(rules["det_loss"])
    assert [way.postprocess for way in OUTLININGS.values()] == names(rules["det_postprocess"])
    assert all(step in TRANSFORMS for way in OUTLININGS.values() for step in way.targets)


def test_a_configuration_has_the_way_of_its_head() -> None:
    loaded = config.load(ROOT / "configs/det/east/east_r50_icdar15.yaml")
    assert detection_heads.of(loaded) is detection_heads.EAST


@pytest.mark.parametrize("head", DRAWING)
def test_a_picture_shows_the_text_and_what_is_ignored(head: str) -> None:
    page = pipeline(DRAWING[head])(page_of(TEXT, IGNORED, ignored=(1,)), np.random.default_rng(0))
    inner, around, learnt = OUTLININGS[head].shown(tuple(one[None] for one in page.maps), 0)
    assert inner.shape == around.shape == learnt.shape == (160, 240)
    assert inner[50, 90] == 1
    assert inner[31, 90] == 0
    assert around[31, 90] > 0
    assert around[90, 200] == 0
    assert (learnt[120, 90], learnt[50, 90]) == (0, 1)


def test_a_picture_shows_maps_of_a_quarter_of_the_size() -> None:
    page = pipeline([{"EASTProcessTrain": {"length": 160}}])(page_of(TEXT), np.random.default_rng(3))
    assert page.image is not None
    inner, around, learnt = OUTLININGS["EASTHead"].shown(tuple(one[None] for one in page.maps), 0)
    assert inner.shape == around.shape == learnt.shape == (160, 160)
    assert (page.image[..., 0][inner > 0] > 127).mean() > 0.9
    assert not around.any()
    assert learnt.all()
