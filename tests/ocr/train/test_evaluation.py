"""train.patience, and labels that cannot be learned."""

from pathlib import Path

import pytest

from hccl_kit.ocr.train.evaluation import without_gain
from tests.ocr.run_tool import CONFIG, summary, together, train

pytestmark = pytest.mark.train


@pytest.mark.parametrize(
    ("scores", "count"),
    [((), 0), ((0.5,), 0), ((0.5, 0.55, 0.6), 2), ((0.5, 0.55, 0.61), 0), ((0.5, 0.7, 0.75, 0.6), 2)],
)
def test_only_a_gain_beyond_the_standard_error_starts_the_count_anew(scores: tuple[float, ...], count: int) -> None:
    assert without_gain(({"word_accuracy": score, "standard_error": 0.1} for score in scores), "acc") == count


def test_a_score_without_a_standard_error_gains_by_any_difference() -> None:
    rows = [{"f-score": score, "standard_error": 0.1} for score in (0.5, 0.51, 0.4)]
    assert without_gain(rows, "f-score") == 1


def test_a_training_ends_when_its_patience_is_over_and_a_resumed_one_goes_on_counting(
    words: Path, tmp_path: Path
) -> None:
    """It reads no word in the first epochs, of six steps; the first evaluation is that of the start."""
    places = (f"{section}.dataset.dataset_root={words}" for section in ("train", "eval"))
    patient = ("train.patience=2", "system.val_interval=1", "system.val_before_train=True", "system.resume=auto")
    command = ("train", "-c", CONFIG, "-o", *places, f"train.ckpt_save_dir={tmp_path / 'run'}", *patient)
    first, *resumed = together((*command, "train.max_steps=6"), command, command)  # the last one without a step
    assert (first.returncode, "ended after" in first.stdout) == (0, False), first.stdout + first.stderr
    for done in resumed:
        assert done.returncode == 0, done.stdout + done.stderr
        assert "2 evaluations without a gain beyond the standard error: ended after step 12 of " in done.stdout
    assert (summary(tmp_path / "run")["steps"], summary(tmp_path / "run")["ended_early"]) == (12, True)


def test_labels_of_other_images_cannot_be_learned(words: Path, tmp_path: Path) -> None:
    """With its true labels, the same training reads all of the images."""
    images, texts = zip(*(row.split("\t") for row in (words / "train_gt.txt").read_text().splitlines()), strict=True)
    wrong = tmp_path / "wrong_gt.txt"
    wrong.write_text("".join(f"{row[0]}\t{row[1]}\n" for row in zip(images, texts[1:] + texts[:1], strict=True)))
    same = ("eval.dataset.data_dir=train", "eval.dataset.label_file=train_gt.txt", "system.val_before_train=True")
    longer = ("scheduler.num_epochs=30", "scheduler.decay_epochs=28", "system.val_interval=30")
    done = train(tmp_path / "run", words, f"train.dataset.label_file={wrong}", *same, *longer)
    assert done.returncode == 0, done.stdout + done.stderr
    assert summary(tmp_path / "run")["ended_early"] is False
    said = "not better than the start: best.ckpt holds the weights of the start"
    assert summary(tmp_path / "run")["gain"] == said
    assert said in done.stdout
