"""Training, evaluation, prediction and export of a direction classifier, as a user runs them."""

import json
from pathlib import Path

import pytest

from tests.ocr.run_tool import summary, tool
from tests.places import ROOT

pytestmark = pytest.mark.train

CONFIG = ROOT / "configs" / "cls" / "mobilenetv3" / "cls_mv3_receipts.yaml"


@pytest.fixture(scope="module")
def trained(words: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training of two steps on the rendered words, which are all upright."""
    folder = tmp_path_factory.mktemp("directions")
    for name in ("train", "test"):
        rows = [line.split("\t")[0] for line in (words / f"{name}_gt.txt").read_text().splitlines()]
        labels = [f"{row}\t{('0', '180')[number % 2]}\n" for number, row in enumerate(rows)]
        (folder / f"{name}.txt").write_text("".join([*labels, f"{rows[0]}\t90\n"]))
    places = [f"{section}.dataset.dataset_root={words}" for section in ("train", "eval")]
    labels = [f"train.dataset.label_file={folder / 'train.txt'}", f"eval.dataset.label_file={folder / 'test.txt'}"]
    done = tool(
        "train", "-c", CONFIG, "-o", *places, *labels, f"train.ckpt_save_dir={folder / 'run'}", "train.max_steps=2",
        "common.batch_size=16",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 97 labels are left out" in done.stdout + done.stderr
    return folder / "run"


@pytest.mark.long
def test_the_evaluation_counts_images(trained: Path) -> None:
    done = tool(
        "eval", "-c", trained / "train_config.yaml", "-o", f"eval.ckpt_load_path={trained / 'best.ckpt'}", "--json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["images"], found["accuracy"]) == (20, summary(trained)["best"])


@pytest.mark.long
def test_a_prediction_has_the_direction_of_each_line(trained: Path, words: Path) -> None:
    done = tool(
        "predict", "-c", trained / "train_config.yaml", "-o", f"eval.ckpt_load_path={trained / 'best.ckpt'}",
        "--images", words / "test",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(rows) == 20
    assert {row[1] for row in rows} <= {"0", "180"}
    assert all(0.5 <= float(row[2]) <= 1 for row in rows)


@pytest.mark.long
def test_an_exported_classifier_names_its_classes(trained: Path, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")  # of the extra `export`
    done = tool(
        "export", "-c", trained / "train_config.yaml", "-o", f"eval.ckpt_load_path={trained / 'best.ckpt'}",
        "--output", tmp_path / "direction",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ": 1x3x48x192 -> 1x2, " in done.stdout
    metadata = {one.key: one.value for one in onnx.load(tmp_path / "direction.onnx").metadata_props}
    assert json.loads(metadata["classes"]) == ["0", "180"]
