"""The language model of a configuration: the source of its texts, and its effect on a recogniser."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.tasks import language
from hccl_kit.ocr.tasks.recognition import Recognition
from tests.ocr.run_tool import CONFIG, summary, tool, train

WORDS = ["cat", "Cats", "cat", "tät"]


def made(folder: Path, *, source: Path = CONFIG, **options: float | str) -> Config:
    """The configuration crnn_small with labels in `folder` and this language model."""
    loaded = config.load(CONFIG, [f"train.dataset.dataset_root={folder}", "postprocess.language_model={}"])
    post = loaded["postprocess"]
    model = {**post["language_model"], **options}
    dataset = {**loaded["train"]["dataset"], "data_dir": ".", "label_file": "labels.txt"}
    sections = {"postprocess": {**post, "language_model": model}, "train": {**loaded["train"], "dataset": dataset}}
    return replace(loaded, values={**loaded.values, **sections}, source=str(source))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with labels."""
    labels = "".join(f"{number}.png\t{word}\n" for number, word in enumerate(WORDS))
    (tmp_path / "labels.txt").write_text(labels, encoding="utf-8")
    return tmp_path


def test_the_texts_are_the_training_labels(folder: Path) -> None:
    assert language.texts_of(made(folder)) == WORDS


def test_missing_labels_are_replaced_by_the_texts_next_to_the_archive(folder: Path) -> None:
    (folder / "texts.txt").write_bytes(b"dog\r\n\r\nC\xc3\xa4t\n")
    archive = folder / "train_config.yaml"
    assert language.texts_of(made(folder, source=archive)) == WORDS
    (folder / "labels.txt").unlink()
    assert language.texts_of(made(folder, source=archive)) == ["dog", "Cät"]


def test_a_file_of_texts_takes_precedence(folder: Path) -> None:
    (folder / "own.txt").write_text("dog\n7.png\tdogs\n8.png\t\n")
    assert language.texts_of(made(folder, texts=str(folder / "own.txt"))) == ["dog", "dogs"]


def test_texts_that_cannot_be_read_are_an_error_with_the_next_step(folder: Path) -> None:
    with pytest.raises(KitError, match=r"none\.txt"):
        language.texts_of(made(folder, texts=str(folder / "none.txt")))
    (folder / "blank.txt").write_text("\n")
    with pytest.raises(KitError, match=r"blank\.txt holds no texts for postprocess\.language_model"):
        language.texts_of(made(folder, texts=str(folder / "blank.txt")))


def test_without_labels_and_texts_there_is_no_language_model(folder: Path) -> None:
    (folder / "labels.txt").unlink()
    assert language.texts_of(made(folder)) == ()
    assert language.beam_search(made(folder), (), Charset("cat")) is None


def test_labels_that_are_damaged_are_an_error(folder: Path) -> None:
    (folder / "labels.txt").write_text("no tab\n")
    with pytest.raises(KitError, match="expected path TAB text"):
        language.texts_of(made(folder))


def test_many_texts_are_sampled_evenly(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "MOST", 3)
    assert language.texts_of(made(folder)) == WORDS[::2]
    (folder / "own.txt").write_text("\n".join("abcdefg"))
    assert language.texts_of(made(folder, texts=str(folder / "own.txt"))) == ["a", "d", "g"]


def test_a_recogniser_uses_the_language_model(folder: Path) -> None:
    characters = Charset.load(None, use_space_char=False).characters
    outputs = np.zeros((1, 3, 37), np.float32)
    for step, character, probability in ((0, "c", 1.0), (1, "0", 0.6), (1, "a", 0.4), (2, "t", 1.0)):
        outputs[0, step, characters.index(character)] = probability
    for weight, bonus, read in ((0.25, 0.75, "cat"), (0.0, 0.0, "c0t")):
        task = Recognition(made(folder, weight=weight, bonus=bonus), height=32, sequence_length=lambda _: 25)
        assert task.texts == WORDS
        assert task.decode(outputs, [TextLine(Path())])[0].text == read
    assert Recognition(config.load(CONFIG), height=32, sequence_length=lambda _: 25).texts == ()


def test_characters_outside_the_dictionary_are_removed_from_the_texts(folder: Path) -> None:
    search = language.beam_search(made(folder), ["tät", "TtT"], Charset("t"))
    assert search is not None
    assert search.model.knows("T")
    assert not search.model.knows("ä")


def test_the_limit_for_lines_unlike_the_texts_follows_from_the_texts(folder: Path) -> None:
    search = language.beam_search(made(folder), ["tt", "tät"] * 100, Charset("t"))
    few = language.beam_search(made(folder), ["tt", "tät"], Charset("t"))
    assert search is not None
    assert few is not None
    assert few.lowest < search.lowest < 0
    assert search.model.likeness("q") < search.lowest <= search.model.likeness("tt")


def test_other_heads_have_no_language_model(folder: Path) -> None:
    wrong = made(folder)
    wrong["postprocess"]["name"] = "RecAttnLabelDecode"
    with pytest.raises(KitError, match=r"is for RecCTCLabelDecode, and postprocess\.name is RecAttnLabelDecode"):
        language.beam_search(wrong, (), Charset("cat"))


@pytest.mark.train
def test_a_training_stores_its_texts_so_that_its_folder_can_be_moved(words: Path, tmp_path: Path) -> None:
    first, moved = tmp_path / "first", tmp_path / "moved"
    done = train(first, words, "train.max_steps=1", "postprocess.language_model={}")
    assert done.returncode == 0, done.stdout + done.stderr
    labels = (words / "train_gt.txt").read_text(encoding="utf-8").splitlines()
    texts = [label.split("\t")[1] for label in labels]
    assert (first / "texts.txt").read_text(encoding="utf-8").splitlines() == texts

    shutil.move(first, moved)
    gone = "train.dataset.dataset_root=gone"
    done = tool("eval", "-c", moved / "train_config.yaml", "-o", gone)
    assert done.returncode == 0, done.stderr
    assert f"({summary(moved)['best']:.2%})" in done.stdout
    assert "language_model" not in done.stderr
    (moved / "texts.txt").unlink()
    done = tool("eval", "-c", moved / "train_config.yaml", "-o", gone)
    assert done.returncode == 0, done.stderr
    assert "postprocess.language_model is off: its training labels were not found" in done.stderr
