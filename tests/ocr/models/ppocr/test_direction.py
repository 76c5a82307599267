"""The classifier of directions: its size, and equality with the published file on lines and on noise."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from mindspore import Tensor
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import rapidocr
from hccl_kit.ocr.adapt import pretrained
from hccl_kit.ocr.models.ppocr.direction import Direction

pytestmark = [pytest.mark.train, pytest.mark.usefixtures("pynative")]


def words() -> NDArray[np.float32]:
    """A line of text (1, 3, 48, 192) with values from -1 to 1."""
    image = np.full((48, 192, 3), 255, np.uint8)
    cv2.putText(image, "Reading 42", (4, 34), cv2.FONT_HERSHEY_SIMPLEX, 1, (0, 0, 0), 2, cv2.LINE_AA)
    return image.transpose(2, 0, 1)[None].astype(np.float32) / 127.5 - 1


def test_outputs_match_the_published_file() -> None:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    try:
        path = rapidocr.path("rapidocr:cls")
    except KitError:
        pytest.skip("rapidocr is not installed")
    network = Direction()
    notes = pretrained.load(path, network, strict=True)
    assert sum(parameter.size for parameter in network.get_parameters()) == 133_628
    network.set_train(False)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    line = words()
    noise = np.random.default_rng(0).standard_normal((3, 3, 48, 193)).astype(np.float32)
    for images in (np.concatenate([line, line[:, :, ::-1, ::-1]]), noise):
        expected = session.run(None, {"x": images})[0]
        found = network(Tensor(images)).asnumpy()
        assert np.abs(found - expected).max() <= 1e-5
    upright, turned = network(Tensor(np.concatenate([line, line[:, :, ::-1, ::-1]]))).asnumpy()
    assert upright[0] > 0.9
    assert turned[1] > 0.9
    assert len(notes) == 1
