"""A training that starts from weights: what they read before, what the run reads after, and what it reads worst."""

from pathlib import Path

import cv2
import pytest

from tests.ocr.run_tool import summary, train

pytestmark = pytest.mark.train


def test_the_summary_compares_before_and_after_and_the_worst_lines_are_drawn(
    run: Path, words: Path, tmp_path: Path
) -> None:
    """`run` ends with weights that read no word; three more steps of them are a fine-tuning."""
    weights = run / "best.ckpt"
    done = train(tmp_path, words, f"model.pretrained={weights}", "train.max_steps=3", "system.val_before_train=True")
    assert done.returncode == 0, done.stderr
    assert "evaluation after step 0: " in done.stdout
    assert "before     after" in done.stdout
    before = summary(tmp_path)["before"]
    assert before["words"] == summary(tmp_path)["words"]
    assert 0 <= before["word_accuracy"] <= summary(tmp_path)["best"]
    picture = cv2.imread(str(tmp_path / "worst_lines.png"))
    assert picture.shape[0] in [28 + 48 * lines for lines in range(1, 21)]
