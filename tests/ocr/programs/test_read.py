"""Reading pages without a configuration, as a user runs it; errors come before heavy imports."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from hccl_kit.base.extra import install_extra
from tests.ocr.data.images import write_png
from tests.ocr.reader.test_engine import page
from tests.ocr.run_tool import assert_refused, refusals, tool
from tests.places import ROOT

pytestmark = pytest.mark.train

LONG = "é" * 125
"""The stem of a name that has no room for the number of a page."""


@pytest.fixture
def weights() -> None:
    pytest.importorskip("onnx")
    try:
        metadata.distribution("rapidocr")
    except metadata.PackageNotFoundError:
        pytest.skip("rapidocr is not installed")


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    for name, words in (("a", ("training", "receipts")), ("b\t", ("",)), (LONG, ("",))):
        write_png(folder / f"{name}.png", page(*words))
    (folder / "c.png").write_bytes(b"damaged")
    return folder


@pytest.mark.parametrize("engine", ["auto", pytest.param("mindspore", marks=pytest.mark.long)])
@pytest.mark.usefixtures("weights")
def test_a_folder_is_read(pages: Path, tmp_path: Path, engine: str) -> None:
    """On a CPU with onnxruntime, without MindSpore."""
    pytest.importorskip("onnxruntime")
    outputs = ("--json", tmp_path / "found.json", "--picture", tmp_path / "drawn")
    done = tool("read", pages, *outputs, "--engine", engine, python=("-X", "importtime"))
    assert done.returncode == 1, done.stderr
    assert ("| mindspore" in done.stderr) == (engine == "mindspore")
    assert [line.split("\t")[:2] for line in done.stdout.splitlines()] == [
        [str(pages / "a.png"), "training"],
        [str(pages / "a.png"), "receipts"],
    ]
    assert "c.png could not be read: not an image that OpenCV reads" in done.stderr
    assert " s a page, the first " in done.stderr
    assert "error: 1 of 4 images could not be read" in done.stderr
    written = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert [Path(one["path"]).name for one in written["pages"]] == ["a.png", "b\t.png", "c.png", f"{LONG}.png"]
    assert written["engine"] == ("onnxruntime" if engine == "auto" else engine)
    assert all(
        f"weights: {one['path']}, SHA-256 {one['sha256'][:12]}..., of " in done.stderr
        for one in written["weight_files"]
    )
    assert [one["regions"] and len(one["regions"]) for one in written["pages"]] == [2, [], None, []]
    assert sorted(path.name for path in (tmp_path / "drawn").iterdir()) == [
        *("0001_a.png", "0002_b\t.png", f"0004_{LONG[:100]}.png")
    ]
    schema = ROOT / "schemas" / "read.schema.json"
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(schema), str(tmp_path / "found.json")]
    valid = subprocess.run(command, capture_output=True, text=True, check=False)
    assert valid.returncode == 0, valid.stdout


@pytest.mark.usefixtures("weights")
def test_an_invalid_request_is_refused_at_once(pages: Path, tmp_path: Path) -> None:
    """Also that of predict without a configuration, which is the same program."""
    (tmp_path / "taken.json").write_text("mine")
    absent, twice = tmp_path / "no.png", tmp_path / "x"
    cases: dict[tuple[object, ...], str] = {
        ("read", absent): f"there is no image or folder {absent}",
        ("read", pages, "--limit", 0): "--limit is 0; accepted: 1 or more",
        ("read", pages, "--json", tmp_path / "taken.json"): "--json: ",
        ("read", pages, "--picture", twice, "--json", twice): f"{twice} is named for two outputs",
        ("predict", "--images", absent): f"there is no image or folder {absent}",
        ("predict", "--images", pages, "--labels", "x.txt"): "error: these need --config: --labels",
    }
    for message, errors in zip(cases.values(), refusals(*cases, heavy=["mindspore"]), strict=True):
        assert message in errors
    assert (tmp_path / "taken.json").read_text() == "mine"


def test_without_weights_one_line_shows_how_to_install_them(pages: Path) -> None:
    hiding = f"""
import runpy, sys
from importlib import metadata
found = metadata.distribution
def hiding(name):
    if name == "rapidocr": raise metadata.PackageNotFoundError(name)
    return found(name)
metadata.distribution = hiding
sys.argv = ["read", {str(pages)!r}]
runpy.run_path({str(ROOT / "tools" / "read.py")!r}, run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", hiding], capture_output=True, text=True, check=False, cwd=ROOT)
    assert_refused(done, 2, "which is not installed", f"fix: {install_extra('weights')}")
