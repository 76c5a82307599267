"""Weights say which dictionary their classes are of; with another one they are converted by character, or refused."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from mindspore import Parameter, Tensor
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.charset import ALPHANUMERIC
from hccl_kit.ocr.checkpoints import checkpoint, dictionary_mark
from hccl_kit.ocr.checkpoints.checkpoint import DamagedError
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.train import build
from tests.ocr.run_tool import CONFIG
from tests.ocr.tiny import ALONE, values

Rows = dict[str, NDArray[np.float32]]


def with_characters(folder: Path, characters: str, *overrides: str) -> Config:
    (folder / "characters.txt").write_text("".join(f"{character}\n" for character in characters), encoding="utf-8")
    path = f"common.character_dict_path={folder / 'characters.txt'}"
    return config.load(CONFIG, [path, f"common.num_classes={len(characters) + 1}", *overrides])


@pytest.fixture
def weights(tmp_path: Path) -> tuple[Path, Rows]:
    """Those of a network for 0-9 and a-z."""
    loaded = config.load(CONFIG)
    network, task = recipes.network(loaded), recipes.task(loaded)
    path = tmp_path / "best.ckpt"
    checkpoint.save(path, [*network.get_parameters(), *dictionary_mark.mark(task.dictionary, task.characters)])
    return path, values(network)


def test_another_order_is_evaluated_as_if_it_were_the_same(
    weights: tuple[Path, Rows], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rows = weights
    found = values(build.trained_network(with_characters(tmp_path, ALPHANUMERIC[::-1], f"eval.ckpt_load_path={path}")))
    order = [*range(35, -1, -1), 36]
    for name, value in rows.items():
        np.testing.assert_array_equal(found[name], value[order] if name.startswith("head.") else value)
    printed = capsys.readouterr().err
    assert f"warning: {path} was trained with another dictionary: 36 of its 36 characters keep their weights" in printed


def test_a_training_goes_on_with_the_characters_that_both_have(weights: tuple[Path, Rows], tmp_path: Path) -> None:
    path, rows = weights
    notes: list[str] = []
    made = with_characters(tmp_path, "ÄÖ" + ALPHANUMERIC[10:], f"model.pretrained={path}")
    found = values(build.network_to_train(made, ALONE, notes.append))
    kept = [*range(10, 36)]
    assert np.array_equal(found["head.weight"][2:], rows["head.weight"][[*kept, 36]])
    np.testing.assert_allclose(found["head.weight"][:2], [rows["head.weight"][:36].mean(axis=0)] * 2, atol=1e-6)
    assert notes[0] == (
        f"{path} was trained with another dictionary: 26 of its 36 characters keep their weights; "
        "2 characters are new: 'Ä', 'Ö'; 10 of 36 classes are left out"
    )


def test_nothing_in_common_is_refused_and_without_strictness_only_the_classifier_is_new(
    weights: tuple[Path, Rows], tmp_path: Path
) -> None:
    path, rows = weights
    with pytest.raises(KitError, match=r"best\.ckpt: the dictionary of the file has no character in common"):
        build.network_to_train(with_characters(tmp_path, "ÄÖÜ", f"model.pretrained={path}"), ALONE, lambda _: None)
    notes: list[str] = []
    made = with_characters(tmp_path, "ÄÖÜ", f"model.pretrained={path}", "model.pretrained_strict=False")
    found = values(build.network_to_train(made, ALONE, notes.append))
    assert notes[0] == f"{path} was trained with another dictionary: the classifier is left out"
    assert all(np.array_equal(found[name], rows[name]) for name in rows if not name.startswith("head."))


def test_weights_of_another_dictionary_that_they_do_not_hold_are_refused(tmp_path: Path) -> None:
    """Such as older files. It has as many characters: without the mark, every word would be misread without a word."""
    loaded = config.load(CONFIG)
    path = tmp_path / "best.ckpt"
    parameters = list(recipes.network(loaded).get_parameters())
    checkpoint.save(path, [*parameters, *dictionary_mark.mark(recipes.task(loaded).dictionary)])
    build.trained_network(config.load(CONFIG, [f"eval.ckpt_load_path={path}"]))
    other = with_characters(tmp_path, ALPHANUMERIC[::-1], f"eval.ckpt_load_path={path}", f"model.pretrained={path}")
    with pytest.raises(KitError, match=r"best\.ckpt was trained with another dictionary") as caught:
        build.trained_network(other)
    assert "character_dict_path" in str(caught.value.hint)
    with pytest.raises(KitError, match=r"best\.ckpt was trained with another dictionary"):
        build.network_to_train(other, ALONE, lambda _: None)


def test_weights_that_do_not_say_are_taken(tmp_path: Path) -> None:
    loaded = config.load(CONFIG, [f"eval.ckpt_load_path={tmp_path / 'best.ckpt'}"])
    checkpoint.save(tmp_path / "best.ckpt", recipes.network(loaded).get_parameters())
    build.trained_network(loaded)
    assert dictionary_mark.mark("") == []


@pytest.mark.parametrize(
    "row",
    [
        np.frombuffer(b"aba", np.uint8),
        np.frombuffer(b"ab\xff", np.uint8),
        np.frombuffer(b"ab", np.uint8),
        np.frombuffer(b"abcd", np.float32),
    ],
    ids=["twice", "not UTF-8", "another digest", "numbers"],
)
def test_a_hostile_dictionary_is_damage(row: NDArray[np.generic]) -> None:
    given = row.tobytes() if row.size == 3 or row.dtype != np.uint8 else b"xyz"
    (digest,) = dictionary_mark.mark(hashlib.sha256(given).hexdigest())
    rows = {digest.name: digest, dictionary_mark.CHARACTERS: Parameter(Tensor(row))}
    with pytest.raises(DamagedError, match=r"a\.ckpt is damaged"):
        dictionary_mark.characters(Path("a.ckpt"), rows)


def test_the_characters_come_back() -> None:
    text = "a 中𠮷"
    rows = {row.name: row for row in dictionary_mark.mark(hashlib.sha256(text.encode()).hexdigest(), text)}
    assert dictionary_mark.characters(Path("a.ckpt"), rows) == text
    assert dictionary_mark.characters(Path("a.ckpt"), {}) is None
