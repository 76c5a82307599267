"""Fine-tuning: the scores before and after, and the worst lines."""

import json
import shlex
import shutil
from pathlib import Path

import cv2
import pytest

from hccl_kit.diagnosis import training_run
from tests.docs.blocks import blocks_of
from tests.docs.pages import DOCS, name_of
from tests.ocr.run_tool import summary, tool, train

pytestmark = pytest.mark.train


def test_the_summary_compares_before_and_after_and_the_worst_lines_are_drawn(
    run: Path, words: Path, tmp_path: Path
) -> None:
    """`run` ends with weights that read no word correctly; three more steps are a fine-tuning."""
    weights = run / "best.ckpt"
    done = train(tmp_path, words, f"model.pretrained={weights}", "train.max_steps=3", "system.val_before_train=True")
    assert done.returncode == 0, done.stderr
    assert "evaluation after step 0: " in done.stdout
    table = done.stdout[done.stdout.index("    before      best      last") :].splitlines()
    names = ["standard_error", "exact", "without_spaces", "case_folded", "character_error_rate"]
    assert [line.split()[0] for line in table[1:8]] == ["word_accuracy", "norm_edit_distance", *names]
    assert table[8] == "not better than the start: best.ckpt holds the weights of the start"
    shown = [float(cell) for cell in table[2].split()[1:]]
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    scores = {row["step"]: row["norm_edit_distance"] for row in rows if "loss" not in row}
    assert shown[0] == pytest.approx(scores[0], abs=1e-4)
    assert shown[2] == pytest.approx(scores[3], abs=1e-4)
    assert summary(tmp_path)["started_from"] == {"model.pretrained": str(weights)}
    assert [summary(tmp_path)["kept"]["norm_edit_distance"]] == pytest.approx(shown[1:2], abs=1e-4)
    before = summary(tmp_path)["before"]
    assert before["words"] == summary(tmp_path)["words"]
    assert 0 <= before["word_accuracy"] <= summary(tmp_path)["best"]
    described = training_run.described(tmp_path)
    assert described["started_from"] == {"model.pretrained": "best.ckpt"}
    reported = [described[name]["norm_edit_distance"] for name in ("before", "best", "last")]
    assert reported == pytest.approx(shown, abs=1e-4)
    picture = cv2.imread(str(tmp_path / "worst_lines.png"))
    assert picture.shape[0] in [28 + 48 * lines for lines in range(1, 21)]


@pytest.mark.long
def test_the_scores_before_the_training_survive_a_resume(run: Path, words: Path, tmp_path: Path) -> None:
    """The resumed run neither evaluates the initial weights again nor mistakes its own first weights for them."""
    tuning = (f"model.pretrained={run / 'best.ckpt'}", "system.val_before_train=True")
    assert train(tmp_path, words, *tuning, "train.max_steps=3").returncode == 0
    before = summary(tmp_path)["before"]
    (tmp_path / "worst_lines.png").unlink()
    done = train(tmp_path, words, *tuning, "train.max_steps=6", "system.resume=True")
    assert done.returncode == 0, done.stderr
    assert "resumed from" in done.stdout
    assert "evaluation after step 0" not in done.stdout
    assert "    before      best      last" in done.stdout
    assert summary(tmp_path)["before"] == before
    assert summary(tmp_path)["steps"] == 6
    assert (tmp_path / "worst_lines.png").is_file()
    steps = [
        json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines() if "loss" not in line
    ]
    assert steps == [0, 3, 6]


@pytest.mark.long
@pytest.mark.parametrize("page", ["train.md", "tutorial.md"])
def test_the_two_documented_commands_work(
    page: str, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From published weights to an ONNX file, as documented, but with two steps and ten words."""
    pytest.importorskip("rapidocr")
    rows = (words / "train_gt.txt").read_text().splitlines(keepends=True)[:10]
    for folder in (
        "mine",
        "mine/train",
        "mine/test",
    ):  # images are next to the labels on one page, in a subfolder on the other
        shutil.copytree(words / "train", tmp_path / folder, dirs_exist_ok=True)
    for name in ("train_gt.txt", "test_gt.txt"):
        (tmp_path / "mine" / name).write_text("".join(rows))
    monkeypatch.chdir(tmp_path)
    training, export = commands_of(page)
    done = tool(*training, "train.max_steps=2", "train.loader.batch_size=4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "    before      best      last" in done.stdout
    done = tool(*export)
    assert done.returncode == 0, done.stdout + done.stderr
    (onnx,) = tmp_path.glob("runs/*/best.onnx")
    assert onnx.stat().st_size > 20_000_000
    made = summary(onnx.parent)
    assert (onnx.parent / "worst_lines.png").is_file() is (made["word_accuracy"] < 1)  # of one line, often read right
    assert made["guard"]["rendered"]["before"]["words"] == 200


def commands_of(page: str) -> list[list[str]]:
    """The arguments of each command in the block that names this file, without `hccl-kit`."""
    (text,) = (block.text for block in blocks_of(DOCS / page) if block.value == name_of(Path(__file__)))
    return [shlex.split(line)[1:] for line in text.replace("\\\n", "").splitlines()]
