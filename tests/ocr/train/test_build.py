"""Networks from configurations: published weights are complete for inference, and exports match the trained network."""

from pathlib import Path

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr import config
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.train import build
from tests.ocr.models.ppocr.test_pages import image
from tests.places import ROOT

pytestmark = pytest.mark.train

DETECTOR = ROOT / "configs" / "det" / "ppocr" / "v6_small_finetune.yaml"


def test_the_published_detector_is_complete_for_inference() -> None:
    """Its file has no branch for the threshold map, which is added for training."""
    for package in ("rapidocr", "onnx"):
        pytest.importorskip(package)
    loaded = config.load(DETECTOR, ["eval.ckpt_load_path=rapidocr:det"])
    network = build.trained_network(loaded)
    assert not [name for name in network.parameters_dict() if "thresh" in name]
    assert network.head.segm[0].bias.asnumpy().any()


@pytest.mark.parametrize("bias", [pytest.param(True, marks=pytest.mark.long), False])
def test_a_detector_with_branches_is_exported_folded(tmp_path: Path, bias: bool) -> None:
    """Backbone, neck and head; the head has a bias instead of its normalisation, whether it had one or not."""
    loaded = config.load(
        DETECTOR.with_name("v6_tiny_finetune.yaml"),
        [f"eval.ckpt_load_path={tmp_path / 'a.ckpt'}", "model.backbone.branches=True", f"model.head.bias={bias}"],
    )
    trained = recipes.network(loaded).set_train(False)
    generator = np.random.default_rng(0)
    for parameter in trained.get_parameters():
        if parameter.name.endswith(("gamma", "variance")):
            parameter.set_data(Tensor(generator.uniform(0.5, 1.5, parameter.shape).astype(np.float32)))
        elif parameter.ndim == 1:
            parameter.set_data(Tensor(generator.uniform(-0.5, 0.5, parameter.shape).astype(np.float32)))
    last = trained.head.segm[4].weight
    last.set_data(last / 100)  # so that the maps are not all 0 or 1
    ms.save_checkpoint(trained, str(tmp_path / "a.ckpt"))
    network = build.network_to_export(loaded).set_train(False)
    assert not [name for name in network.parameters_dict() if name.endswith("gamma")]
    ms.set_context(mode=ms.PYNATIVE_MODE)  # nothing is compiled
    found, expected = (one(Tensor(image(64, 96))).asnumpy() for one in (network, trained))
    ms.set_context(mode=ms.GRAPH_MODE)
    assert 0.01 < expected.std() < 0.3
    assert np.abs(found - expected).max() < 1e-4
