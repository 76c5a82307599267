"""The detectors of PP-OCRv6: equality with the published file, shapes, and the maps of training."""

import re
from collections.abc import Iterator
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from mindspore import Tensor
from numpy.typing import NDArray

from hccl_kit.ocr import rapidocr
from hccl_kit.ocr.adapt import pretrained
from hccl_kit.ocr.models.network import Network
from hccl_kit.ocr.models.ppocr import pages

pytestmark = pytest.mark.train

SMALL = {
    "backbone": {"name": "det_pplcnet_v4", "size": "small"},
    "neck": {"name": "RepLKFPN", "out_channels": 96, "kernel": 7},
    "head": {"name": "DBHead", "k": 50, "bias": True, "adaptive": True, "k_scales_threshold": True},
}


@pytest.fixture(autouse=True)
def pynative() -> Iterator[None]:
    """Operator by operator: each size of an image would be compiled."""
    ms.set_context(mode=ms.PYNATIVE_MODE)
    yield
    ms.set_context(mode=ms.GRAPH_MODE)


def image(height: int, width: int) -> NDArray[np.float32]:
    """Dark bars of text on a light page, in the range of normalised pixels."""
    generator = np.random.default_rng(height * width)
    page = generator.normal(0.7, 0.1, (1, 3, height, width)).astype(np.float32)
    for top in range(8, height - 16, 24):
        page[..., top : top + 12, 8 : width // 2] -= generator.random((1, 1, 12, width // 2 - 8)) > 0.5
    return page


def test_equals_the_published_file() -> None:
    """All weights but the branch of training, and the outputs, also of images that are not square and of one cell."""
    pytest.importorskip("rapidocr")
    onnxruntime = pytest.importorskip("onnxruntime")
    file = rapidocr.path("rapidocr:det")
    network = pages.build(SMALL)
    notes = pretrained.load(file, network, strict=False)
    assert re.fullmatch("6 not in the file: head.thresh.0.weight, .*", notes[-1])
    network.set_train(False)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    for size in ((160, 224), (32, 32), (96, 352)):
        (expected,) = session.run(None, {"x": image(*size)})
        assert expected.shape == (1, 1, *size)
        assert np.abs(network(Tensor(image(*size))).asnumpy() - expected).max() < 1e-5, size


def train(network: Network) -> Any:
    return network.set_train(True)(Tensor(image(64, 32)))


def test_training_gives_the_binary_map_of_the_paper() -> None:
    probability, threshold, binary = (each.asnumpy() for each in train(pages.build(SMALL)))
    assert probability.shape == threshold.shape == binary.shape == (1, 1, 64, 32)
    assert np.allclose(binary, 1 / (1 + np.exp(-50 * (probability - threshold))), atol=1e-5)


def test_nothing_is_normalised() -> None:
    """No statistics of a batch: an image has the same maps alone and in company."""
    network = pages.build(SMALL)
    assert not [name for name in network.parameters_dict() if "gamma" in name or "moving" in name]
    both = np.concatenate([image(64, 32), 3 * image(64, 32)])
    alone = train(network)[0].asnumpy()
    assert np.allclose(network(Tensor(both))[0].asnumpy()[:1], alone, atol=1e-6)


@pytest.mark.parametrize(("size", "channels", "kernel"), [("tiny", 64, 5), ("small", 96, 7)])
def test_sizes(size: str, channels: int, kernel: int) -> None:
    network = pages.build(
        {
            **SMALL,
            "backbone": {"name": "det_pplcnet_v4", "size": size},
            "neck": {"name": "RepLKFPN", "out_channels": channels, "kernel": kernel},
        }
    )
    assert network.set_train(False)(Tensor(image(64, 96))).shape == (1, 1, 64, 96)
