"""Interpolation between pixels: the gathers of evaluation match the device operators of training."""

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.models.sample import Sample
from tests.ocr.models import golden

pytestmark = [pytest.mark.train, pytest.mark.usefixtures("pynative")]


def test_sampling_agrees_inside_and_up_to_a_pixel_outside_the_image() -> None:
    images = golden.images((2, 3, 8, 24))
    generator = np.random.default_rng(1)
    places = generator.uniform(-1.04, 1.04, (2, 5, 7, 2)).astype(np.float32)
    places[:, 0] = generator.choice([-1, 0, 1], (2, 7, 2))
    cell = Sample()
    cell.set_train(True)
    expected = cell(images, Tensor(places)).asnumpy()
    cell.set_train(False)
    np.testing.assert_allclose(cell(images, Tensor(places)).asnumpy(), expected, atol=2e-6)
