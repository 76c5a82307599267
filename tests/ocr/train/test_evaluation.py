"""train.patience, eval.guard, and labels that cannot be learned."""

import json
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis import training_run
from hccl_kit.ocr import config
from hccl_kit.ocr.data.data_folder import guards
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.train.evaluation import without_gain
from hccl_kit.ocr.train.summary import forgetting
from tests.ocr.run_tool import CONFIG, refusals, summary, together, train
from tests.places import ROOT

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
    patient = ("train.patience=2", "system.val_interval=1", "system.val_before_train=True", "system.resume=auto")
    folder = tmp_path / "run"
    assert train(folder, words, *patient, "train.max_steps=6").returncode == 0
    assert summary(folder)["ended_early"] is False
    for _ in range(2):  # the second time without a step
        done = train(folder, words, *patient)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "2 evaluations without a gain beyond the standard error: ended after step 12 of " in done.stdout
        assert (summary(folder)["steps"], summary(folder)["ended_early"]) == (12, True)


def test_labels_of_other_images_cannot_be_learned(words: Path, tmp_path: Path) -> None:
    """With its true labels, the same training reads all of the images."""
    images, texts = zip(*(row.split("\t") for row in (words / "train_gt.txt").read_text().splitlines()), strict=True)
    wrong = tmp_path / "wrong_gt.txt"
    wrong.write_text("".join(f"{row[0]}\t{row[1]}\n" for row in zip(images, texts[1:] + texts[:1], strict=True)))
    same = ("eval.dataset.data_dir=train", "eval.dataset.label_file=train_gt.txt", "system.val_before_train=True")
    longer = ("scheduler.num_epochs=60", "scheduler.decay_epochs=58", "system.val_interval=60")
    done = train(tmp_path / "run", words, f"train.dataset.label_file={wrong}", *same, *longer)
    assert done.returncode == 0, done.stdout + done.stderr
    said = "not better than the start: best.ckpt holds the weights of the start"
    assert summary(tmp_path / "run")["gain"] == said
    assert said in done.stdout


def row(exact: float, *, words: int = 200, **more: Any) -> dict[str, Any]:
    return {"words": words, "right": words, "exact": exact, **more}


def test_a_loss_of_more_than_chance_is_said() -> None:
    assert (
        forgetting("rendered", {"before": row(0.97), "best": row(0.625)})
        == "guard rendered: exact 97.00% -> 62.50% of 200 words; best.ckpt has forgotten some of them"
    )
    for rows in ({"before": row(0.97), "best": row(0.95)}, {"before": row(0.625), "best": row(0.97)}):
        assert "forgotten" not in forgetting("rendered", rows)
    assert "forgotten" not in forgetting("rendered", {"before": row(0.97, words=20), "best": row(0.85, words=20)})


def test_without_scores_of_the_start_only_those_of_the_best_weights_are_said() -> None:
    assert forgetting("a_gt.txt", {"best": row(0.5)}) == "guard a_gt.txt: exact 50.00% of 200 words"
    pages = {"before": {"texts": 9, "f-score": 0.9}, "best": {"texts": 9, "f-score": 0.1}}
    assert forgetting("pages.txt", pages) == "guard pages.txt: f-score 90.00% -> 10.00% of 9 texts"


def test_a_training_scores_each_set_with_its_first_and_its_best_weights(run: Path, words: Path, tmp_path: Path) -> None:
    """And eval prints the same scores of best.ckpt in one table."""
    labels = words / "train_gt.txt"
    sets = f"eval.guard=[rendered, {labels}]"
    weights = f"model.pretrained={run / 'best.ckpt'}"
    done = train(tmp_path, words, weights, "train.max_steps=6", "system.val_before_train=True", sets)
    assert done.returncode == 0, done.stdout + done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("guard ")]
    assert said[0].startswith("guard rendered: exact 0.00% -> 0.00% of ")
    assert said[1].startswith(f"guard {labels}: exact ")
    guard = summary(tmp_path)["guard"]
    assert list(guard) == ["rendered", str(labels)]
    assert {rows["best"]["words"] for rows in guard.values()} == {96, 200}
    (first,) = (
        row["guard"]
        for line in (tmp_path / "metrics.jsonl").read_text().splitlines()
        if "guard" in (row := json.loads(line))
    )
    assert {name: rows["before"] for name, rows in guard.items()} == first
    exact = {when: round(guard[str(labels)][when]["exact"], 4) for when in ("before", "best")}
    reported = training_run.described(tmp_path)["guard"]
    assert {when: reported[f"train_gt.txt {when}"] for when in exact} == exact

    done, as_json = together(*(("eval", "-c", tmp_path / "train_config.yaml", *more) for more in ((), ("--json",))))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-10].split() == ["eval.dataset", "rendered", str(labels)]
    table = {cells[0]: cells[1:] for line in lines[-9:] if (cells := line.split())}
    assert table["words"] == ["20", "200", "96"]
    assert table["norm_edit_distance"][1:] == [f"{rows['best']['norm_edit_distance']:.4f}" for rows in guard.values()]
    assert json.loads(as_json.stdout)["guard"][str(labels)] == pytest.approx(guard[str(labels)]["best"])


def test_a_set_that_is_not_there_is_an_error_before_anything_is_read(words: Path) -> None:
    data = f"eval.dataset.dataset_root={words}"
    absent, rendered = refusals(
        ("eval", "-c", CONFIG, "-o", data, "eval.guard=none.txt"),
        ("eval", "-c", ROOT / "configs/det/dbnet/db_r18_icdar15.yaml", "-o", data, "eval.guard=rendered"),
    )
    assert "eval.guard: cannot read none.txt" in absent
    assert "rendered lines are for text recognition, and model.type is det" in rendered


def test_images_are_beside_the_labels_or_in_a_subfolder_of_their_name(words: Path, tmp_path: Path) -> None:
    def places(labels: Path) -> dict[str, Any]:
        (made,) = guards(config.load(CONFIG, [f"eval.guard={labels}"])).values()
        dataset = made["eval"]["dataset"]
        return {key: dataset[key] for key in ("dataset_root", "data_dir", "label_file")}

    assert places(words / "test_gt.txt")["data_dir"] == "test"
    (tmp_path / "labels.txt").write_text("a.png\tword\n")
    with pytest.raises(KitError, match=r"eval\.guard: there is no image a\.png"):
        places(tmp_path / "labels.txt")
    (tmp_path / "a.png").touch()
    assert places(tmp_path / "labels.txt") == {
        "dataset_root": str(tmp_path),
        "data_dir": ".",
        "label_file": "labels.txt",
    }


def test_a_training_may_rehearse_rendered_lines(words: Path, tmp_path: Path) -> None:
    """A third as many as its own 96; those that the small network cannot learn are left out."""
    done = train(tmp_path, words, "train.max_steps=1", "train.rehearsal=0.25")
    assert done.returncode == 0, done.stdout + done.stderr
    (samples,) = (int(line.split()[0]) for line in done.stdout.splitlines() if " samples, " in line)
    assert 96 < samples <= 128


def test_pages_are_not_rehearsed() -> None:
    loaded = config.load(ROOT / "configs" / "det" / "dbnet" / "db_r18_icdar15.yaml", ["train.rehearsal=0.1"])
    with pytest.raises(KitError, match=r"train\.rehearsal is for text recognition, and this is a "):
        recipes.task(loaded)
