"""Long-running programs show their progress; here in a log, without the delay between two lines."""

import re
from pathlib import Path

import pytest

from tests.ocr.programs.test_convert_dataset import ROWS
from tests.ocr.run_tool import together


def progress_of(*commands: tuple[object, ...]) -> list[list[str]]:
    lines = []
    for done in together(*commands, interval=0):
        assert done.returncode == 0, done.stderr
        counts = (re.match(r"(.+: \d+ of \d+)(?:, about \d+ s left)?$", line) for line in done.stderr.splitlines())
        lines.append([count[1] for count in counts if count])
    return lines


def counted(what: str, count: int) -> list[str]:
    return [f"{what}: {done} of {count}" for done in range(1, count)]


def test_rendering_and_conversion_show_progress(tmp_path: Path) -> None:
    for name in ("images", "gt"):
        (tmp_path / name).mkdir()
    for number in range(3):
        (tmp_path / "images" / f"img_{number}.jpg").touch()
        (tmp_path / "gt" / f"gt_img_{number}.txt").write_text(ROWS)
    rendered, converted = progress_of(
        ("render_words", "--output", tmp_path / "words", "--train", 4, "--test", 3),
        ("convert_dataset", "-i", tmp_path / "images", "-l", tmp_path / "gt"),
    )
    assert rendered == counted("rendering the train set", 4) + counted("rendering the test set", 3)
    assert converted == counted("converting pages", 3)


@pytest.mark.train
def test_evaluation_and_prediction_show_progress(run: Path, words: Path) -> None:
    weights = ("-c", run / "train_config.yaml", "-o", f"eval.ckpt_load_path={run / 'best.ckpt'}")
    evaluated, predicted = progress_of(
        ("eval", *weights), ("predict", *weights, "--images", words / "test", "--limit", 3)
    )
    assert evaluated == counted("evaluating", 20)
    assert predicted == counted("reading images", 3)
