"""Common behaviour of all training programs: the help, and the hint if there are no weights."""

import shutil
from pathlib import Path

import pytest

from tests.ocr.run_tool import CONFIG, refusals
from tests.places import ROOT
from tests.program import kit

pytestmark = pytest.mark.train


def test_missing_weights_are_an_error_with_the_next_step(
    words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before heavy packages are imported; the configuration is named as given."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(CONFIG, tmp_path / "my config.yaml")
    own, data = ("-c", tmp_path / "my config.yaml"), ("-o", f"eval.dataset.dataset_root={words}")
    nowhere = "eval.ckpt_load_path=no/best.ckpt"
    *by_path, by_name = refusals(
        ("eval", *own, *data, nowhere),
        ("predict", *own, *data, "--images", words / "test"),
        ("export", *own, *data, nowhere),
        ("eval", "-c", "rec/crnn/crnn_small.yaml", *data),
    )
    for errors in by_path:
        assert "error: there is no checkpoint " in errors
        assert "best.ckpt (eval.ckpt_load_path, or best.ckpt of a run)" in errors
        assert f"fix: train first: hccl-kit train -c '{tmp_path}/my config.yaml'" in errors
        assert "or name another: -o eval.ckpt_load_path=FILE" in errors
    assert "fix: train first: hccl-kit train -c rec/crnn/crnn_small.yaml\n" in by_name


@pytest.mark.parametrize("name", ["read", "train", "eval", "predict", "export", "render_words", "convert_dataset"])
def test_the_help_shows_valid_examples(name: str) -> None:
    """A backslash in the text would join two lines into one."""
    done = kit(name.replace("_", "-"), "--help", cwd=ROOT)
    lines = done.stdout.splitlines()
    text = (ROOT / "hccl_kit" / "ocr" / "programs" / f"{name}.py").read_text(encoding="utf-8")
    source = text.split('"""')[1].splitlines()
    examples = [line for line in source if f"hccl-kit {name.replace('_', '-')}" in line or line.startswith("    --")]
    assert examples
    assert set(examples) <= set(lines)
