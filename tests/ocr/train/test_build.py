"""Networks from configurations: the published weights are complete for use."""

import pytest

from hccl_kit.ocr import config
from hccl_kit.ocr.train import build
from tests.places import ROOT

pytestmark = pytest.mark.train

DETECTOR = ROOT / "configs" / "det" / "ppocr" / "v6_small_receipts.yaml"


def test_the_published_detector_lacks_nothing_in_use() -> None:
    """Its file has no branch for the threshold map, which training adds."""
    for package in ("rapidocr", "onnx"):
        pytest.importorskip(package)
    loaded = config.load(DETECTOR, ["eval.ckpt_load_path=rapidocr:det"])
    network = build.trained_network(loaded)
    assert not [name for name in network.parameters_dict() if "thresh" in name]
    assert network.head.segm[0].bias.asnumpy().any()
