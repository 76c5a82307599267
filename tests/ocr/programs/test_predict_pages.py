"""From pages to their texts, as a user runs it: a detector with initial weights, and a recogniser after it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from hccl_kit.ocr import config
from hccl_kit.ocr.checkpoints import checkpoint
from hccl_kit.ocr.tasks import recipes
from tests.ocr.data.images import write_png
from tests.ocr.run_tool import CONFIG, refusals, summary, together, tool
from tests.places import ROOT

pytestmark = pytest.mark.train

DETECTOR = ROOT / "configs/det/dbnet/db_mobilenetv3_icdar15.yaml"
CLASSIFIER = ROOT / "configs/cls/mobilenetv3/cls_mv3.yaml"
SIZE = 64


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration with small pages, whose detector finds the whole page as one text."""
    folder = tmp_path_factory.mktemp("detector")
    steps = [
        {"DecodeImage": {"img_mode": "RGB"}},
        {"DetLabelEncode": None},
        {"DetResize": {"target_size": [SIZE, SIZE], "keep_ratio": False, "divisor": 32}},
        {"NormalizeImage": {"mean": "imagenet", "std": "imagenet"}},
        {"ToCHWImage": None},
    ]
    settings = {
        "__base__": str(DETECTOR),
        "model": {"pretrained": None},
        "postprocess": {"binary_thresh": 0.0, "box_thresh": 0.0},
        "eval": {"ckpt_load_path": str(folder / "fresh.ckpt"), "dataset": {"transform_pipeline": steps}},
    }
    path = folder / "detector.yaml"
    path.write_text(yaml.safe_dump(settings))
    network = recipes.network(config.load(path))
    checkpoint.save(folder / "fresh.ckpt", list(network.get_parameters()))
    return path


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    for name in ("a", "b"):
        image = np.random.default_rng(ord(name)).integers(0, 255, (90, 160, 3), dtype=np.uint8)
        write_png(folder / f"{name}.png", image)
    return folder


@pytest.mark.long  # two MobileNetV3 networks are exported; test_read.py always runs a chain
def test_a_chain_detects_rotates_and_reads_lines(detector: Path, run: Path, pages: Path, tmp_path: Path) -> None:
    (pages / "c.png").write_bytes(b"damaged")
    checkpoint.save(tmp_path / "cls.ckpt", list(recipes.network(config.load(CLASSIFIER)).get_parameters()))
    drawn = tmp_path / "drawn"
    done = tool(
        "predict", "-c", detector, "--images", pages, "--json", tmp_path / "found.json", "--picture", drawn,
        "--read", run / "train_config.yaml", "--read-opt", f"eval.ckpt_load_path={run / 'best.ckpt'}",
        "--turn", CLASSIFIER, "--turn-opt", f"eval.ckpt_load_path={tmp_path / 'cls.ckpt'}",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [Path(path).name for path, _ in rows] == ["a.png", "b.png", "c.png"]
    for _, found in rows[:2]:
        (text,) = json.loads(found)
        assert text.keys() == {"transcription", "points", "score", "confidence"}
        assert np.ptp(np.array(text["points"]), axis=0).tolist() >= [100, 50]
    assert rows[2][1] == "null"
    written = json.loads((tmp_path / "found.json").read_text())
    assert [page.get("regions") for page in written[:2]] == [json.loads(found) for _, found in rows[:2]]
    error = "not an image that OpenCV reads"
    assert len(written[2].pop("weights")) == 3
    assert written[2] == {"path": str(pages / "c.png"), "regions": None, "error": error}
    assert [path.name for path in sorted(drawn.iterdir())] == ["0001_a.png", "0002_b.png"]
    assert f"warning: {pages}/c.png could not be read: {error}" in done.stderr
    assert "error: 1 of 3 images could not be read" in done.stderr


REFUSED: dict[tuple[object, ...], str] = {
    ("--labels", "x.txt"): "--labels is for lines",
    ("--read-opt", "a=b"): "--read-opt requires --read",
    ("--read", DETECTOR): "--config is of type det and --read of type det",
    ("--read", "gone.yaml"): "gone.yaml",
    ("--limit", "0"): "--limit is 0",
    ("--turn", "x.yaml"): "--turn requires --read",
    ("--turn-opt", "a=b"): "--turn-opt requires --turn",
    ("--read", CONFIG, "--turn", CLASSIFIER, "--turn-opt", "common.label_list=['0', '90']"): (
        "--turn has the classes 0, 90; 180, upside down, is missing"
    ),
    ("--read", CONFIG, "--turn", CONFIG): "--turn is of type rec; accepted: a classification",
}


def test_an_invalid_command_is_refused_before_heavy_imports(pages: Path) -> None:
    commands = [("predict", "-c", DETECTOR, "--images", pages, *options) for options in REFUSED]
    score = ("eval", "-c", DETECTOR, "-o", f"eval.dataset.dataset_root={pages}", "eval.dataset.data_dir=.")
    labels = ("eval.dataset.label_file=.",)
    *errors, turned = refusals(*commands, (*score, *labels, "--turn", CLASSIFIER))
    for message, error in zip(REFUSED.values(), errors, strict=True):
        assert message in error
    assert "--turn requires --read" in turned


@pytest.mark.long  # the network of the detector is exported
def test_an_evaluation_counts_the_texts_that_are_found_and_read(detector: Path, run: Path, pages: Path) -> None:
    """The detector finds a whole page as one text, which the label says is there."""
    whole = [[0, 0], [160, 0], [160, 90], [0, 90]]
    rows = json.dumps([{"transcription": "page", "points": whole}])
    (pages / "gt.txt").write_text("".join(f"{name}.png\t{rows}\n" for name in ("a", "b")))
    command = (
        "eval", "-c", detector, "--read", run / "train_config.yaml", "--read-opt",
        f"eval.ckpt_load_path={run / 'best.ckpt'}", "-o", f"eval.dataset.dataset_root={pages}",
        "eval.dataset.data_dir=.", "eval.dataset.label_file=gt.txt",
    )  # fmt: skip
    shown, scores = together(command, (*command, "--json"))
    assert (shown.returncode, scores.returncode) == (0, 0), shown.stderr + scores.stderr
    assert "\n2 of 2 found, 0 false: h-mean 100.00%\nof those found: " in shown.stdout
    written = json.loads(scores.stdout)
    assert (written["found"], written["read"]["words"]) == (2, 2)
    assert written["end_to_end"]["recall"] == written["read"]["right"] / 2


TARGETS: dict[Path, list[dict[str, Any]]] = {
    DETECTOR: [{"RandomCropWithBBox": {"crop_size": [SIZE, SIZE]}}, {"ShrinkBinaryMap": None}, {"BorderMap": None}],
    ROOT / "configs/det/psenet/pse_mv3_icdar15.yaml": [
        {"PSEGtDecode": {"min_shortest_edge": SIZE}},
        {"RandomCropWithMask": {"size": [SIZE, SIZE]}},
    ],
    ROOT / "configs/det/east/east_mobilenetv3_icdar15.yaml": [{"EASTProcessTrain": {"length": SIZE}}],
}


@pytest.mark.long
@pytest.mark.parametrize("shipped", TARGETS, ids=lambda path: path.stem)
def test_a_detector_is_trained_and_evaluated(detector: Path, shipped: Path, pages: Path, tmp_path: Path) -> None:
    """MobileNetV3 has so many parameters that MindSpore's default recursion limit would be exceeded."""
    rows = [{"transcription": "one", "points": [[20, 20], [120, 20], [120, 60], [20, 60]]}]
    (pages / "gt.txt").write_text("".join(f"{name}.png\t{json.dumps(rows)}\n" for name in ("a", "b")))
    small = config.load(detector)["eval"]["dataset"]["transform_pipeline"]
    places = {"dataset_root": str(pages), "data_dir": ".", "label_file": "gt.txt"}
    settings = {
        "__base__": str(shipped),
        "system": {"val_while_train": False},
        "train": {
            "ckpt_save_dir": str(tmp_path / "run"),
            "max_steps": 2,
            "dataset": {**places, "transform_pipeline": [*small[:2], *TARGETS[shipped], *small[3:]]},
            "loader": {"batch_size": 2},
        },
        "eval": {"dataset": {**places, "transform_pipeline": small}},
    }
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(settings))
    done = tool("train", "-c", tmp_path / "small.yaml")
    assert done.returncode == 0, done.stderr
    assert summary(tmp_path / "run").keys() >= {"recall", "precision", "f-score"}
    assert (tmp_path / "run" / "first_batch.png").is_file()
    best = f"eval.ckpt_load_path={tmp_path / 'run' / 'best.ckpt'}"
    picture = tmp_path / "worst.png"
    again = tool("eval", "-c", tmp_path / "run" / "train_config.yaml", "-o", best, "--json", "--picture", picture)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["f-score"] == summary(tmp_path / "run")["f-score"]
    assert picture.read_bytes() == (tmp_path / "run" / "worst_pages.png").read_bytes()
