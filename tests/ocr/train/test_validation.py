"""train.validation: a part of the training pages chooses best.ckpt, and eval.dataset is read once, at the end."""

import json
import shutil
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.data.lines.line_sources import read_lines
from hccl_kit.ocr.tasks import recipes
from tests.ocr.run_tool import CONFIG, summary, train

pytestmark = pytest.mark.train
PAGES, LINES = 12, 8


@pytest.fixture
def pages(words: Path, tmp_path: Path) -> Path:
    """The 96 training words, named as lines of 12 pages; the test words stay."""
    shutil.copytree(words, tmp_path / "words")
    rows = []
    for number, row in enumerate((words / "train_gt.txt").read_text().splitlines()):
        old, text = row.split("\t")
        new = f"page{number % PAGES}_{number // PAGES:03}.png"
        (tmp_path / "words" / "train" / old).rename(tmp_path / "words" / "train" / new)
        rows.append(f"{new}\t{text}\n")
    (tmp_path / "words" / "train_gt.txt").write_text("".join(rows))
    return tmp_path / "words"


def loaded(pages: Path, *overrides: str) -> config.Config:
    return config.load(
        CONFIG, [f"train.dataset.dataset_root={pages}", f"eval.dataset.dataset_root={pages}", *overrides]
    )


def test_no_page_is_trained_and_validated(pages: Path) -> None:
    made = loaded(pages, "train.validation=0.25")
    parts = [read_lines(dataset) for dataset in (made.training_set, made.on_validation()["eval"]["dataset"])]
    names = [{line.path.name.partition("_")[0] for line in part} for part in parts]
    assert list(map(len, names)) == [9, 3]
    assert len(names[0] | names[1]) == PAGES
    assert len(parts[0]) + len(parts[1]) == PAGES * LINES
    again = loaded(pages, "train.validation=0.25", "system.seed=7").training_set
    assert [line.path for line in read_lines(again)] == [line.path for line in parts[0]], "of another seed"
    other = loaded(pages, "train.validation=0.25", "train.dataset.split_seed=7").training_set
    assert {line.path for line in read_lines(other)} != {line.path for line in parts[0]}


def test_a_part_of_a_split_is_kept_back_from_that_part(pages: Path) -> None:
    same = ("eval.dataset.data_dir=train", "eval.dataset.label_file=train_gt.txt")
    cuts = ("train.dataset.split=[0, 0.67]", "eval.dataset.split=[0.67, 1]")
    made = loaded(pages, "train.validation=0.25", *cuts, *same)
    datasets = (made.training_set, made.on_validation()["eval"]["dataset"], made["eval"]["dataset"])
    names = [{line.path.name.partition("_")[0] for line in read_lines(dataset)} for dataset in datasets]
    assert list(map(len, names)) == [6, 2, 4]
    assert len(set.union(*names)) == PAGES


def test_the_language_model_and_the_training_see_no_validation_line(pages: Path) -> None:
    made = loaded(pages, "train.validation=0.25", "postprocess.language_model={}")
    task = recipes.task(made)
    lines, _ = task.train_samples(lambda _: None)
    assert len(lines) == len(task.texts) == 9 * LINES


@pytest.mark.parametrize("share", ["0.6", "-0.1", "true"])
def test_a_share_that_leaves_too_little_to_train_is_refused(pages: Path, share: str) -> None:
    with pytest.raises(KitError, match=r"train.validation is .*; (accepted: at |expected a number)"):
        loaded(pages, f"train.validation={share}")


def test_the_test_split_is_read_once_with_the_weights_that_the_validation_part_chose(
    pages: Path, tmp_path: Path
) -> None:
    """Two evaluations choose; the test split has other words, so its count tells them apart."""
    folder = tmp_path / "run"
    done = train(folder, pages, "train.validation=0.25", "scheduler.num_epochs=2", "system.val_interval=1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "train.validation 0.25: 24 lines of train.dataset are not trained and choose best.ckpt; the 20 of"
        in done.stdout
    )
    assert "72 samples, 4 steps an epoch" in done.stdout
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["words"] for row in rows if "words" in row] == [24, 24]
    made = summary(folder)
    assert (made["words"], made["test"]["words"], made["test"]["weights"]) == (24, 20, "best.ckpt")
    assert made["best"] == max(row["word_accuracy"] for row in rows if "words" in row)
    assert done.stdout.count("eval.dataset, read once, with best.ckpt: ") == 1
