"""Trained networks in both engines: equal scores, cached files, and networks that cannot be exported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.ocr.run_tool import assert_refused, together, tool

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.train


def test_both_engines_have_the_same_result_and_the_file_is_cached(
    run: Path, words: Path, tmp_path: Path, own_cache: Path
) -> None:
    weights = shutil.copy(run / "best.ckpt", tmp_path / "best.ckpt")
    shared = ("-c", run / "train_config.yaml", "-o", f"eval.ckpt_load_path={weights}")
    first = tool("eval", *shared, "--json")
    (file,) = (own_cache / "onnx").iterdir()
    inode = file.stat().st_ino
    again, other = together(
        ("predict", *shared, "--images", words / "test", "--json", tmp_path / "onnxruntime.json"),
        ("eval", *shared, "--json", "--engine", "mindspore"),
    )
    assert first.returncode == again.returncode == other.returncode == 0, first.stderr + again.stderr + other.stderr
    assert [path.stat().st_ino for path in (own_cache / "onnx").iterdir()] == [inode]  # not written again
    assert json.loads(first.stdout) == json.loads(other.stdout)


def test_a_network_that_cannot_be_exported_runs_in_mindspore(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example if the disk is full."""
    (tmp_path / "cache").write_text("")
    monkeypatch.setenv("HCCL_KIT_CACHE", str(tmp_path / "cache"))
    command = ("eval", "-c", run / "train_config.yaml", "-o", f"eval.ckpt_load_path={run / 'best.ckpt'}", "--json")
    done, refused = together(command, (*command, "--engine", "onnxruntime"))
    assert done.returncode == 0, done.stderr
    assert f"engine: mindspore: cannot write {tmp_path}/cache/onnx" in done.stderr
    assert json.loads(done.stdout)["words"] == 20
    assert_refused(refused, 2, f"cannot write {tmp_path}/cache/onnx")
