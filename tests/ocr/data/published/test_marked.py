"""Properties of the code shared by all data sets."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.ocr.data.published.marked import corners, find_image, numbers, turned
from hccl_kit.ocr.data.samples import BadSampleError

PLACES = st.integers(-100, 2000)


def area(points: Sequence[tuple[float, float]]) -> float:
    """Positive if clockwise on the screen."""
    following = [*points[1:], points[0]]
    return sum(x * below - right * y for (x, y), (right, below) in zip(points, following, strict=True)) / 2


@given(st.lists(st.tuples(PLACES, PLACES), min_size=3, max_size=14))
def test_a_polygon_goes_clockwise_from_its_first_corner(points: list[tuple[float, float]]) -> None:
    flat = [value for point in points for value in point]
    if area(points) == 0:
        with pytest.raises(BadSampleError, match="without area"):
            corners(flat)
        return
    found = corners(flat)
    assert area(found) == abs(area(points))
    assert found[0] == points[0]
    assert found in (points, [points[0], *points[:0:-1]])
    assert corners([value for point in found for value in point]) == found


@given(st.tuples(PLACES, PLACES), st.integers(1, 500), st.integers(1, 500), st.floats(-7, 7))
def test_a_rotated_box_keeps_its_size_and_centre(at: tuple[int, int], width: int, height: int, angle: float) -> None:
    points = turned(width, height, angle, at=at)
    sides = [math.dist(points[number], points[number - 3]) for number in range(4)]
    assert sides == pytest.approx([width, height, width, height], abs=0.03)
    for axis, size in enumerate((width, height)):
        assert sum(point[axis] for point in points) / 4 == pytest.approx(at[axis] + size / 2, abs=0.01)
    first = math.atan2(points[1][1] - points[0][1], points[1][0] - points[0][0])
    assert math.cos(first - angle) == pytest.approx(1, abs=1e-3)


@given(st.lists(st.floats(-1e8, 1e8, allow_nan=False)))
def test_numbers_are_parsed(values: list[float]) -> None:
    fields = [f"{value:.6f}" for value in values]
    assert numbers(fields) == [float(field) for field in fields]


@pytest.mark.parametrize("field", ["", "1_0", "١", "0x1", "inf", "1" * 400, "1e999", "--1"])
def test_a_text_that_is_not_a_number_is_refused(field: str) -> None:
    with pytest.raises(BadSampleError, match="not a number"):
        numbers([field])


@given(st.text(max_size=40) | st.from_regex(r"\A(\.\./|\./|a/|/){1,5}secret\.png\Z"))
def test_a_name_cannot_escape_from_the_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    root = tmp_path_factory.getbasetemp() / "names"
    images = root / "images"
    (images / "a").mkdir(parents=True, exist_ok=True)
    for place in (root, images / "a"):
        (place / "secret.png").touch()
    try:
        found = find_image(images, name)
    except BadSampleError:
        return
    assert found.resolve().is_relative_to(images.resolve())
    assert found.is_file()


def test_the_folder_may_be_repeated_in_the_name(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    image = tmp_path / "train" / "a.jpg"
    image.touch()
    assert find_image(tmp_path, "train/a.jpg") == find_image(tmp_path / "train", "train/a.jpg") == image
