"""The pixel format of a pipeline, which pictures and other programs need to restore natural images."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.data.pixel_format import PixelFormat, pixel_format
from hccl_kit.ocr.data.samples import Sample

MEAN_127 = {"NormalizeImage": {"bgr_to_rgb": True, "mean": [127.0] * 3, "std": [127.0] * 3}}
IMAGENET = {"NormalizeImage": {"mean": "imagenet", "std": "imagenet", "is_hwc": True}}
PIPELINES: list[list[dict[str, Any]]] = [
    [{"DecodeImage": {"img_mode": "BGR"}}, IMAGENET, {"ToCHWImage": None}],
    [{"DecodeImage": {"img_mode": "RGB"}}, IMAGENET, {"ToCHWImage": None}],
    [{"DecodeImage": None}, MEAN_127, {"ToCHWImage": None}],
    [{"Decode": None}, {"Normalize": None}, {"HWC2CHW": None}],
    [{"DecodeImage": None}, {"ToCHWImage": None}],
]


@pytest.mark.parametrize("steps", PIPELINES)
def test_natural_images_are_restored_from_any_pipeline(tmp_path: Path, steps: list[dict[str, Any]]) -> None:
    image = np.random.default_rng(0).integers(0, 256, (12, 20, 3)).astype(np.uint8)
    image[..., 0] //= 4  # more red than blue
    cv2.imwrite(str(tmp_path / "a.png"), image)
    done = pipeline(steps)(Sample(tmp_path / "a.png"), np.random.default_rng(0))
    assert done.image is not None
    found = pixel_format((name, options or {}) for step in steps for name, options in step.items())
    np.testing.assert_array_equal(found.restored(done.image.astype(np.float32)), image)


def test_values_outside_the_pixel_range_are_clipped() -> None:
    made = PixelFormat("RGB", (100.0,) * 3, (10.0,) * 3)
    image = np.stack([np.full((2, 2), value, np.float32) for value in (-20.0, 0.0, 20.0)])
    assert made.restored(image)[0, 0].tolist() == [255, 100, 0]
