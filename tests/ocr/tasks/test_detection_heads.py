"""Detection heads: each has targets, which a picture shows."""

from typing import Any

import numpy as np
import pytest

from hccl_kit.ocr import config
from hccl_kit.ocr.config import schema
from hccl_kit.ocr.data.pipeline import TRANSFORMS, pipeline
from hccl_kit.ocr.tasks import detection
from hccl_kit.ocr.tasks.detection import HEADS
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
    """The names of a part that the schema accepts."""
    return rule["properties"]["name"]["enum"]


def test_every_head_and_its_parts_are_in_the_schema() -> None:
    rules = schema.root()["$defs"]
    assert list(HEADS) == names(rules["det_model"]["properties"]["head"])
    assert [head.criterion for head in HEADS.values()] == names(rules["det_loss"])
    assert list(dict.fromkeys(head.postprocess for head in HEADS.values())) == names(rules["det_postprocess"])
    assert all(step in TRANSFORMS for head in HEADS.values() for step in head.targets)


def test_a_configuration_has_the_head_that_it_names() -> None:
    loaded = config.load(ROOT / "configs/det/east/east_r50_icdar15.yaml")
    assert detection.head_of(loaded) is detection.EAST


@pytest.mark.parametrize("head", DRAWING)
def test_a_picture_shows_texts_and_ignored_texts(head: str) -> None:
    page = pipeline(DRAWING[head])(page_of(TEXT, IGNORED, ignored=(1,)), np.random.default_rng(0))
    kernels, borders, mask = HEADS[head].shown(tuple(one[None] for one in page.maps), 0)
    assert kernels.shape == borders.shape == mask.shape == (160, 240)
    assert kernels[50, 90] == 1
    assert kernels[31, 90] == 0
    assert borders[31, 90] > 0
    assert borders[90, 200] == 0
    assert (mask[120, 90], mask[50, 90]) == (0, 1)


def test_a_picture_shows_maps_of_a_quarter_of_the_size() -> None:
    page = pipeline([{"EASTProcessTrain": {"length": 160}}])(page_of(TEXT), np.random.default_rng(3))
    assert page.image is not None
    kernels, borders, mask = HEADS["EASTHead"].shown(tuple(one[None] for one in page.maps), 0)
    assert kernels.shape == borders.shape == mask.shape == (160, 160)
    assert (page.image[..., 0][kernels > 0] > 127).mean() > 0.9
    assert not borders.any()
    assert mask.all()
