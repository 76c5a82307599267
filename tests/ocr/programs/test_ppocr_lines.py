"""Training of a PP-OCR recogniser in its training form, as a user runs it, and export of the folded form."""

from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
import yaml
from mindspore import Tensor

from hccl_kit.ocr import config
from hccl_kit.ocr.adapt import pretrained
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.train import build
from tests.ocr.run_tool import CONFIG, summary, tool, train

onnx = pytest.importorskip("onnx")
pytestmark = [pytest.mark.train, pytest.mark.long]


def written(folder: Path) -> Path:
    """The tiny recogniser of PP-OCRv6 with its guiding decoder, for the words of crnn_small.yaml."""
    shipped = config.load(CONFIG).values
    model = {
        "type": "rec",
        "backbone": {"name": "rec_pplcnet_v4", "size": "tiny", "branches": True},
        "neck": {"name": "CTCGuide"},
        "head": {"name": "MultiHead", "out_channels": 37, "nrtr_dims": 32, "nrtr_layers": 1},
    }
    values = {**shipped, "model": model, "loss": {"name": "MultiLoss"}}
    for section in ("train", "eval"):
        for step in values[section]["dataset"]["transform_pipeline"]:
            if "RecResizeImg" in step:
                step["RecResizeImg"]["image_shape"] = [48, 160]
    (folder / "tiny.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    return folder / "tiny.yaml"


def test_it_is_trained_and_exported_in_folded_form(words: Path, tmp_path: Path) -> None:
    path, run = written(tmp_path), tmp_path / "run"
    done = train(run, words, "train.max_steps=3", "system.mode=1", "system.val_while_train=False", config=path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert summary(run)["steps"] == 3
    weights = f"eval.ckpt_load_path={run / 'best.ckpt'}"
    done = tool("export", "-c", path, "-o", weights, "--format", "onnx")
    assert done.returncode == 0, done.stderr
    kinds = [node.op_type for node in onnx.load(run / "best.onnx").graph.node]
    assert kinds.count("BatchNormalization") == 2  # those of the neck
    loaded = config.load(path, [weights])
    model = loaded["model"]
    plain = {
        **model,
        "backbone": {**model["backbone"], "branches": False},
        "head": {"name": "CTCHead", "out_channels": 37},
    }
    other = recipes.network(config.Config({**loaded.values, "model": plain}, "memory")).set_train(False)
    pretrained.load(run / "best.ckpt", other, strict=True)
    ms.set_context(mode=ms.PYNATIVE_MODE)  # nothing is compiled
    images = Tensor(np.random.default_rng(0).uniform(-1, 1, (2, 3, 48, 96)).astype(np.float32))
    expected = build.trained_network(loaded).set_train(False)(images).asnumpy()
    found = other(images).asnumpy()
    ms.set_context(mode=ms.GRAPH_MODE)
    assert np.abs(found - expected).max() < 1e-5
