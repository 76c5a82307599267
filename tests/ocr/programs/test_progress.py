"""Long-running programs show their progress; here in a log, without the delay between two lines."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ocr.programs.test_convert_dataset import ROWS
from tests.ocr.run_tool import OURS
from tests.places import ROOT

PROGRAM = """
import sys
from hccl_kit.base import progress
from hccl_kit.cli.kit import main
progress.INTERVAL = 0
sys.exit(main(sys.argv[1:]))
"""


def progress_of(*arguments: object) -> list[str]:
    environ = {key: value for key, value in os.environ.items() if key not in OURS} | {"PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(argv, capture_output=True, text=True, env=environ, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    counts = (re.match(r"(.+: \d+ of \d+)(?:, about \d+ s left)?$", line) for line in done.stderr.splitlines())
    return [count[1] for count in counts if count]


def counted(what: str, count: int) -> list[str]:
    return [f"{what}: {done} of {count}" for done in range(1, count)]


def test_rendering_shows_progress(tmp_path: Path) -> None:
    lines = progress_of("render-words", "--output", tmp_path, "--train", 4, "--test", 3)
    assert lines == counted("rendering the train set", 4) + counted("rendering the test set", 3)


def test_conversion_shows_progress(tmp_path: Path) -> None:
    for name in ("images", "gt"):
        (tmp_path / name).mkdir()
    for number in range(3):
        (tmp_path / "images" / f"img_{number}.jpg").touch()
        (tmp_path / "gt" / f"gt_img_{number}.txt").write_text(ROWS)
    lines = progress_of("convert-dataset", "-i", tmp_path / "images", "-l", tmp_path / "gt")
    assert lines == counted("converting pages", 3)


@pytest.mark.train
def test_evaluation_and_prediction_show_progress(run: Path, words: Path) -> None:
    weights = ("-c", run / "train_config.yaml", "-o", f"eval.ckpt_load_path={run / 'best.ckpt'}")
    assert progress_of("eval", *weights) == counted("evaluating", 20)
    lines = progress_of("predict", *weights, "--images", words / "test", "--limit", 3)
    assert lines == counted("reading images", 3)
