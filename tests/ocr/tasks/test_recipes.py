"""Networks and tasks that belong together."""

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.tasks.recognition import Recognition
from tests.ocr.programs import CONFIG


def test_the_shipped_configuration_has_a_recipe() -> None:
    loaded = config.load(CONFIG)
    network = recipes.network(loaded)
    assert sum(parameter.size for parameter in network.trainable_params()) > 100_000
    assert isinstance(recipes.task(loaded), Recognition)


def test_parts_without_a_recipe_are_refused() -> None:
    loaded = config.load(CONFIG)
    values = {**loaded.values, "model": {**loaded["model"], "backbone": {"name": "rec_vgg8"}}}
    with pytest.raises(KitError, match=r"no recipe joins rec_vgg8 \+ RNNEncoder \+ CTCHead; known: det_resnet18"):
        recipes.find(Config(values, "memory"))
