"""A training with the settings of MindOCR's file for SynthText, from weights on a server, as a user runs it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.io import savemat

from hccl_kit.ocr import config
from hccl_kit.ocr.checkpoints import checkpoint
from hccl_kit.ocr.tasks import recipes
from tests.ocr.checkpoints.test_fetch import Handler, server
from tests.ocr.data.images import write_image
from tests.ocr.run_tool import summary, tool
from tests.places import ROOT

pytestmark = [pytest.mark.train, pytest.mark.long]

__all__ = ["server"]  # used as a fixture
SHIPPED = ROOT / "configs/det/dbnet/db_r18_icdar15.yaml"
STEPS: list[dict[str, Any]] = [
    {"RandomHorizontalFlip": {"p": 0.5}},
    {"RandomScale": {"scale_range": [0.5, 3.0], "size_limits": [32, 128], "p": 1.0}},
    {"RandomCropWithBBox": {"crop_size": [64, 64], "p": 1.0}},
    {"ShrinkBinaryMap": None},
    {"BorderMap": {"fast": True}},
    {"Normalize": {"mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375]}},
    {"HWC2CHW": None},
]


def cells(values: list[Any]) -> Any:
    row = np.empty((1, len(values)), object)
    row[0, :] = values
    return row


def written(root: Path, url: str) -> Path:
    """A configuration without postprocess, metric, eval and Decode, and its data."""
    quad = np.array([[20, 20], [120, 20], [120, 60], [20, 60]], float).T
    for name in ("a", "b"):
        write_image(root / f"{name}.png", 128, height=90, width=160)
    columns: dict[str, list[Any]] = {
        "imnames": ["a.png", "b.png"],
        "wordBB": [quad, quad],
        "txt": [np.array(["one"]), np.array(["two"])],
    }
    savemat(root / "gt.mat", {name: cells(values) for name, values in columns.items()})
    shipped = config.load(SHIPPED).values
    settings: dict[str, Any] = {key: value for key, value in shipped.items() if key not in config.EVALUATION}
    settings["model"]["pretrained"] = url
    settings["optimizer"] = {"opt": "nesterov"}
    settings["system"] |= {"val_while_train": False}
    places = {"dataset_root": str(root), "data_dir": ".", "label_file": "gt.mat"}
    settings["train"] |= {"ckpt_save_dir": str(root / "run"), "max_steps": 2, "loader": {"batch_size": 2}}
    settings["train"]["dataset"] = {"type": "SynthTextDataset", **places, "transform_pipeline": STEPS}
    (root / "a.yaml").write_text(yaml.safe_dump(settings))
    return root / "a.yaml"


def test_a_training_from_a_url_ends_without_an_evaluation(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HCCL_KIT_CACHE", str(tmp_path / "cache"))
    url = f"{server}/a/net.ckpt"
    path = written(tmp_path, url)
    network = recipes.network(config.load(path))
    checkpoint.save(tmp_path / "net.ckpt", list(network.get_parameters()))
    monkeypatch.setattr(Handler, "data", (tmp_path / "net.ckpt").read_bytes())
    done = tool("train", "-c", path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert f"downloading {url}, " in done.stdout
    assert f"weights: downloaded from {url} to {tmp_path / 'cache'}" in done.stdout
    assert "parameters are taken" in done.stdout
    assert summary(tmp_path / "run")["steps"] == 2
    assert "f-score" not in summary(tmp_path / "run")
    assert (tmp_path / "run" / "best.ckpt").is_file()
    (tmp_path / "run").replace(tmp_path / "first")
    monkeypatch.setenv("HCCL_KIT_CACHE", str(tmp_path / "other"))
    offline = tool("train", "-c", path, "-o", "model.pretrained=http://127.0.0.1:9/net.ckpt")
    assert offline.returncode == 2
    assert "cannot download http://127.0.0.1:9/net.ckpt" in offline.stderr
    assert f"download it manually to {tmp_path / 'other'}" in offline.stderr
    assert not (tmp_path / "run").exists()
