"""Common behaviour of all training programs: the help, and the hint if there are no weights."""

import shutil
from pathlib import Path

import pytest

from tests.ocr.run_tool import CONFIG, tool
from tests.places import ROOT

pytestmark = pytest.mark.train


@pytest.mark.parametrize("name", ["eval", "predict", "export"])
def test_missing_weights_are_an_error_with_the_next_step(words: Path, tmp_path: Path, name: str) -> None:
    """Before heavy packages are imported; with the shipped configuration, before a training."""
    shutil.copy(CONFIG, tmp_path / "my config.yaml")
    options = {"eval": [], "predict": ["--images", words / "test"], "export": []}[name]
    command = ("-c", tmp_path / "my config.yaml", "-o", f"eval.dataset.dataset_root={words}", *options)
    done = tool(name, *command, "eval.ckpt_load_path=no/best.ckpt") if not options else tool(name, *command)
    assert done.returncode == 2
    assert "error: there is no checkpoint " in done.stderr
    assert "best.ckpt (eval.ckpt_load_path, or best.ckpt of a run)" in done.stderr
    assert f"fix: train first: hccl-kit train -c '{tmp_path}/my config.yaml'" in done.stderr
    assert "or name another: -o eval.ckpt_load_path=FILE" in done.stderr


@pytest.mark.parametrize("name", ["read", "train", "eval", "predict", "export", "render_words", "convert_dataset"])
def test_the_help_shows_valid_examples(name: str) -> None:
    """A backslash in the text would join two lines into one."""
    done = tool(name, "--help")
    lines = done.stdout.splitlines()
    text = (ROOT / "hccl_kit" / "ocr" / "programs" / f"{name}.py").read_text(encoding="utf-8")
    source = text.split('"""')[1].splitlines()
    examples = [line for line in source if f"hccl-kit {name.replace('_', '-')}" in line or line.startswith("    --")]
    assert examples
    assert set(examples) <= set(lines)


def test_the_hint_to_train_names_the_configuration_as_given(
    words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = tool("eval", "-c", "rec/crnn/crnn_small.yaml", "-o", f"eval.dataset.dataset_root={words}")
    assert done.returncode == 2
    assert "fix: train first: hccl-kit train -c rec/crnn/crnn_small.yaml\n" in done.stderr
