"""Weights say which dictionary their classes are of."""

from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.checkpoints import checkpoint, dictionary_mark
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.train import build
from tests.ocr.run_tool import CONFIG


def test_weights_of_another_dictionary_are_refused(tmp_path: Path) -> None:
    """It has as many characters: without the mark, every word would be misread without a word."""
    loaded = config.load(CONFIG, [f"eval.ckpt_load_path={tmp_path / 'best.ckpt'}"])
    parameters = list(recipes.network(loaded).get_parameters())
    checkpoint.save(tmp_path / "best.ckpt", [*parameters, *dictionary_mark.mark(recipes.task(loaded).dictionary)])
    build.trained_network(loaded)
    (tmp_path / "other.txt").write_text(
        "".join(f"{character}\n" for character in "zyxwvutsrqponmlkjihgfedcba9876543210")
    )
    other = config.load(
        CONFIG,
        [f"eval.ckpt_load_path={tmp_path / 'best.ckpt'}", f"common.character_dict_path={tmp_path / 'other.txt'}"],
    )
    with pytest.raises(KitError, match=r"best\.ckpt was trained with another dictionary") as caught:
        build.trained_network(other)
    assert "character_dict_path" in str(caught.value.hint)


def test_weights_that_do_not_say_are_taken(tmp_path: Path) -> None:
    loaded = config.load(CONFIG, [f"eval.ckpt_load_path={tmp_path / 'best.ckpt'}"])
    checkpoint.save(tmp_path / "best.ckpt", recipes.network(loaded).get_parameters())
    build.trained_network(loaded)
    assert dictionary_mark.mark("") == []
