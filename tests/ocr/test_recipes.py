"""Parts that belong together, and configurations whose parts do not."""

from pathlib import Path

import pytest

from hccl_kit.errors import KitError
from hccl_kit.ocr import config, recipes
from hccl_kit.ocr.charset import ALPHANUMERIC, Charset
from hccl_kit.ocr.config import Config
from tests.ocr.programs import CONFIG


def with_text(folder: Path, old: str, new: str, *, count: int = -1) -> Config:
    path = folder / "config.yaml"
    text = CONFIG.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, count), encoding="utf-8")
    return config.load(path)


def test_the_shipped_configuration_has_a_recipe() -> None:
    loaded = config.load(CONFIG)
    recipe = recipes.find(loaded)
    network = recipe.network(loaded["model"])
    assert sum(parameter.size for parameter in network.trainable_params()) > 100_000
    assert recipes.charset_of(loaded) == Charset(ALPHANUMERIC)
    assert recipes.sequence_length(loaded) == 25
    assert recipes.label_options(loaded)["max_text_len"] == 12


def test_parts_without_a_recipe_are_refused() -> None:
    loaded = config.load(CONFIG)
    values = {**loaded.values, "model": {**loaded["model"], "backbone": {"name": "rec_resnet34"}}}
    with pytest.raises(KitError, match=r"no recipe joins rec_resnet34 \+ RNNEncoder \+ CTCHead; known: rec_conv_small"):
        recipes.find(Config(values, "memory"))


def test_classes_must_fit_the_dictionary() -> None:
    loaded = config.load(CONFIG, ["model.head.out_channels=36"])
    with pytest.raises(KitError, match="out_channels is 36, but the dictionary makes 37 with the blank"):
        recipes.charset_of(loaded)


def test_labels_and_decoder_must_use_one_dictionary(tmp_path: Path) -> None:
    (tmp_path / "dict.txt").write_text("\n".join(reversed(ALPHANUMERIC)))
    loaded = config.load(CONFIG, [f"postprocess.character_dict_path={tmp_path / 'dict.txt'}"])
    with pytest.raises(KitError, match="different dictionaries"):
        recipes.charset_of(loaded)


def test_a_space_makes_one_class_more(tmp_path: Path) -> None:
    loaded = with_text(tmp_path, "&use_space_char False", "&use_space_char True")
    with pytest.raises(KitError, match="the dictionary makes 38"):
        recipes.charset_of(loaded)


def test_a_training_needs_labels(tmp_path: Path) -> None:
    text = CONFIG.read_text(encoding="utf-8")
    start, end = text.index("      - RecCTCLabelEncode"), text.index("      - RecResizeImg")
    loaded = with_text(tmp_path, text[start:end], "", count=1)
    with pytest.raises(KitError, match=r"train\.dataset\.transform_pipeline lacks RecCTCLabelEncode"):
        recipes.label_options(loaded)


@pytest.mark.parametrize(
    ("old", "new", "count", "expected"),
    [
        ("[32, 100]", "[48, 100]", -1, r"\[48, 100\]; rec_conv_small takes images 32 high"),
        ("[32, 100]", "[32, 200]", 1, r"is \[32, 200\] in train and \[32, 100\] in eval"),
    ],
)
def test_images_must_have_the_height_of_the_network(
    tmp_path: Path, old: str, new: str, count: int, expected: str
) -> None:
    loaded = with_text(tmp_path, old, new, count=count)
    with pytest.raises(KitError, match=expected):
        recipes.sequence_length(loaded)


def test_a_pipeline_needs_one_size(tmp_path: Path) -> None:
    text = CONFIG.read_text(encoding="utf-8")
    start, end = text.rindex("      - RecResizeImg"), text.rindex("      - NormalizeImage")
    path = tmp_path / "config.yaml"
    path.write_text(text[:start] + text[end:], encoding="utf-8")
    with pytest.raises(KitError, match=r"eval\.dataset\.transform_pipeline lacks RecResizeImg"):
        recipes.sequence_length(config.load(path))
