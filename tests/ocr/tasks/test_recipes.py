"""Networks and tasks that belong together."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor, nn

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.charset import ALPHANUMERIC
from hccl_kit.ocr.config import Config, schema
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.models import crnn
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.tasks.recognition import Recognition
from tests.ocr.run_tool import CONFIG


def test_the_shipped_configuration_has_a_recipe() -> None:
    loaded = config.load(CONFIG)
    network = recipes.network(loaded)
    assert sum(parameter.size for parameter in network.trainable_params()) > 100_000
    assert isinstance(recipes.task(loaded), Recognition)


def test_parts_without_a_recipe_are_refused() -> None:
    loaded = config.load(CONFIG)
    values = {**loaded.values, "model": {**loaded["model"], "backbone": {"name": "rec_vgg8"}}}
    with pytest.raises(
        KitError, match=r"unsupported combination rec_vgg8 \+ RNNEncoder \+ CTCHead; supported: det_resnet18"
    ):
        recipes.find(Config(values, "memory"))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.transform={name: STN_ON}", "model.transform is STN_ON, but rec_conv_small has no rectifier"),
        ("model.head.weight_init=crnn_customised", "model.head.weight_init is crnn_customised, but the head of"),
        ("model.head.bias_init=crnn_customised", "model.head.bias_init is crnn_customised, but the head of"),
    ],
)
def test_a_key_that_the_network_would_ignore_is_refused(override: str, message: str) -> None:
    with pytest.raises(KitError, match=message):
        recipes.network(config.load(CONFIG, [override]))


def test_the_schema_has_the_parts_of_every_recipe_and_no_others() -> None:
    """The last step of adding a family: the configuration is checked before MindSpore is loaded."""
    rules = schema.root()["$defs"]
    models = [rules[f"{kind}_model"]["properties"] for kind in ("det", "rec", "cls")]
    for place, part in ((0, "backbone"), (-1, "head")):
        accepted = {name for model in models for name in names(model[part])}
        assert {recipe.parts[place] for recipe in recipes.RECIPES} == accepted
    assert {recipe.parts[1] for recipe in recipes.RECIPES if len(recipe.parts) == 3} == {
        name for model in models for name in (names(model["neck"]) if "neck" in model else ())
    }


def names(part: dict[str, Any]) -> list[str]:
    """The names that the schema accepts for a part."""
    name = part.get("properties", {}).get("name", {})
    found: list[str] = name.get("enum") or [name["const"]]
    return found


class Columns(nn.Cell):
    """A backbone of one convolution: images (N, 3, 32, W) to features (N, 8, 1, W/8)."""

    HEIGHT, out_channels = 32, 8

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, self.out_channels, (32, 8), stride=(32, 8), pad_mode="valid")

    def construct(self, images: Tensor) -> Tensor:
        return self.convolution(images)

    @staticmethod
    def sequence_length(width: int) -> int:
        return width // 8


def test_a_family_is_one_module_and_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    row = recipes.Recipe(
        ("rec_columns", "RNNEncoder", "CTCHead"),
        partial(crnn.build, backbone=Columns),
        partial(Recognition, height=Columns.HEIGHT, sequence_length=Columns.sequence_length),
    )
    monkeypatch.setattr(recipes, "RECIPES", (*recipes.RECIPES, row))
    loaded = config.load(CONFIG)
    made = Config({**loaded.values, "model": {**loaded["model"], "backbone": {"name": "rec_columns"}}}, "memory")
    network, task = recipes.network(made), recipes.task(made)
    network.set_train(False)
    outputs = network(Tensor(np.zeros((2, 3, 32, 104), np.float32))).asnumpy()
    assert outputs.shape == (2, 13, 37)
    [reading, _] = task.decode(outputs, [TextLine(Path())] * 2)
    assert set(reading.text) <= set(ALPHANUMERIC)
