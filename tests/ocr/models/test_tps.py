"""The rectifier: properties of thin-plate splines, and the effect of control points on an image."""

from typing import Any

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.ocr.models import tps
from hccl_kit.ocr.models.tps import Sample
from tests.ocr.models import golden
from tests.ocr.reference import reference_arrays

pytestmark = pytest.mark.train

TARGETS = tps.edge_points(20, (0.05, 0.05))


def warp(sources: tps.Points, places: tps.Points) -> tps.Points:
    """The source positions of `places` in the straight text, for targets that are mapped to `sources`."""
    return tps.values(TARGETS, places) @ (tps.coefficients(TARGETS) @ sources)


def places(count: int) -> tps.Points:
    return np.random.default_rng(0).uniform(0, 1, (count, 2))


def test_the_spline_goes_through_its_points() -> None:
    sources = TARGETS + np.random.default_rng(1).normal(0, 0.1, TARGETS.shape)
    np.testing.assert_allclose(warp(sources, TARGETS), sources, atol=1e-9)


@pytest.mark.parametrize("matrix", [np.eye(2), np.array([[0.8, 0.1], [-0.2, 0.6]])])
def test_an_affine_map_is_reproduced(matrix: tps.Points) -> None:
    """If all points are translated, rotated and scaled together, the spline is affine."""
    np.testing.assert_allclose(warp(TARGETS @ matrix + 0.1, places(50)), places(50) @ matrix + 0.1, atol=1e-9)


def test_points_lie_on_both_edges_in_reading_order() -> None:
    points = tps.edge_points(6, (0.1, 0.2))
    np.testing.assert_allclose(points[:, 0], [0.1, 0.5, 0.9] * 2)
    np.testing.assert_allclose(points[:, 1], [0.2] * 3 + [0.8] * 3)


def test_constants_match_the_reference() -> None:
    expected = reference_arrays("svtr_tiny.npz")
    np.testing.assert_allclose(tps.coefficients(TARGETS), expected["tps_inverse_kernel"][:, :20], atol=1e-4)
    start = tps.rectifier().stn_head.stn_fc2.bias.asnumpy()
    np.testing.assert_allclose(start, expected["stn_fc2_bias_init"], atol=1e-7)


def straightened(images: Any, points: tps.Points, outputs: tuple[int, int]) -> Any:
    """The output of the rectifier for images with these control points."""
    cell = tps.rectifier(tps_outputsize=outputs)
    cell.set_train(False)
    cell.stn_head.stn_fc2.bias.set_data(Tensor(points.reshape(-1).astype(np.float32)))
    return cell(Tensor(images)).asnumpy()


@pytest.mark.usefixtures("pynative")
def test_points_at_their_default_positions_leave_the_image_unchanged() -> None:
    """A ramp, which interpolation cannot change; its outermost pixels are mixed with the area outside."""
    ramp = np.broadcast_to(np.linspace(0, 1, 101, dtype=np.float32), (2, 3, 32, 101))
    found = straightened(ramp.copy(), TARGETS, (16, 51))
    assert found.shape == (2, 3, 16, 51)
    inside = found[:, :, 1:-1, 1:-1]
    expected = np.linspace(0, 1, 51)[1:-1] * 101 / 100 - 0.005  # from pixel edges to pixel centres
    np.testing.assert_allclose(inside, np.broadcast_to(expected, inside.shape), atol=1e-4)


@pytest.mark.usefixtures("pynative")
def test_points_around_a_part_enlarge_it() -> None:
    """Only the right half of the image is white: a text there fills the output."""
    images = np.zeros((1, 3, 32, 100), np.float32)
    images[..., 50:] = 1
    right = TARGETS * [0.4, 0.8] + [0.55, 0.1]
    np.testing.assert_allclose(straightened(images, right, (8, 20)), 1, atol=1e-5)


@pytest.mark.usefixtures("pynative")
def test_points_outside_are_moved_to_the_edge() -> None:
    images = np.ones((1, 3, 32, 100), np.float32)
    found = straightened(images, TARGETS - 3, (8, 20))
    np.testing.assert_allclose(found, 0.25, atol=1e-5)  # the corner, of which a quarter is inside the image


@pytest.mark.usefixtures("pynative")
def test_it_is_initialised_to_the_whole_image() -> None:
    """For any image: the initial points do not depend on it."""
    head = tps.rectifier().stn_head
    head.set_train(False)
    points = head(golden.images((2, 3, 32, 64))).asnumpy()
    np.testing.assert_allclose(points, np.stack([tps.edge_points(20, (0.01, 0.01))] * 2), atol=1e-6)


@pytest.mark.usefixtures("pynative")
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
