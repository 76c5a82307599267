"""Augmentation of text lines: SVTRGeometry, SVTRDeterioration, CVColorJitter, and SVTRRecAug for all three.

The default ranges are those of MindOCR's SVTR files. Symmetric values are drawn from a Beta(4, 4), so that small
changes are more frequent than large ones, one-sided values from a Beta(1, 4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.data.transforms import Transform, colour_jitter, image_of

Image = NDArray[np.uint8]
Matrix = NDArray[np.float64]
Draw = np.random.Generator

INTERPOLATIONS = (cv2.INTER_NEAREST, cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_AREA)
MAX_SIDE = 4096
"""Pixels; a line that would become longer is not changed."""
PYRAMID = (512, 128)
"""Width and height to which a line is resized before its resolution is halved."""


def geometry(
    *,
    aug_type: int = 0,
    degrees: float = 15,
    translate: Sequence[float] = (0.3, 0.3),
    scale: Sequence[float] = (0.5, 2.0),
    shear: Sequence[float] = (45, 15),
    distortion: float = 0.5,
    p: float = 0.5,
) -> Transform[TextLine]:
    """With probability `p` a rotation, an affine map or a perspective map; with `aug_type` 1 one to three of them.

    `degrees` and `shear` are the largest angles, `translate` the largest shifts as shares of the height, `distortion`
    twice the largest inward shift of a corner as a share of the size. New areas repeat the border of the image, and the
    canvas grows with the line.
    """

    def rotation(draw: Draw, _: int, __: int) -> Matrix:
        return _rotation(np.radians(_around(draw, degrees)))

    def affine(draw: Draw, _: int, __: int) -> Matrix:
        matrix = _rotation(np.radians(_around(draw, degrees))) * draw.uniform(scale[0], scale[1])
        lean = np.array(
            [[1.0, np.tan(np.radians(_around(draw, shear[0])))], [np.tan(np.radians(_around(draw, shear[1]))), 1.0]]
        )
        moved = np.eye(3)
        moved[:2, :2] = matrix[:2, :2] @ lean
        return moved

    def perspective(draw: Draw, width: int, height: int) -> Matrix:
        inwards = draw.beta(1, 4, (4, 2)) * distortion / 2 * np.array([width, height])
        corners = _corners(width, height)
        towards = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
        matrix: Matrix = cv2.getPerspectiveTransform(corners, (corners + inwards * towards).astype(np.float32))
        return matrix

    kinds: list[Callable[[Draw, int, int], Matrix]] = [rotation, affine, perspective]

    def apply(line: TextLine, draw: Draw) -> TextLine:
        if draw.random() >= p:
            return line
        image = image_of(line)
        count = int(draw.integers(1, 4)) if aug_type else 1
        for kind in draw.permutation(3)[:count]:
            matrix = kinds[kind](draw, image.shape[1], image.shape[0])
            image = _warp(image, matrix, int(draw.choice(INTERPOLATIONS[:3])))
            if kinds[kind] is affine:
                image = _shifted(image, [round(_around(draw, share * image.shape[0])) for share in translate])
        return replace(line, image=image)

    return apply


def deterioration(
    *, variance: float | None = None, degrees: float | None = None, factor: float | None = None, p: float = 0.5
) -> Transform[TextLine]:
    """With probability `p` noise, motion blur and lower resolution in random order, without those that are None.

    `variance` is the largest variance of the noise, `degrees` the longest motion in pixels, `factor` the most halvings.
    """
    kinds: list[Callable[[Image, Draw], Image]] = []
    if variance is not None:
        kinds.append(lambda image, draw: noisy(image, draw, variance))
    if degrees is not None:
        kinds.append(lambda image, draw: _moved(image, draw, degrees))
    if factor is not None:
        kinds.append(lambda image, draw: _coarser(image, draw, factor))

    def apply(line: TextLine, draw: Draw) -> TextLine:
        if draw.random() >= p:
            return line
        image = image_of(line)
        for kind in draw.permutation(len(kinds)):
            image = kinds[kind](image, draw)
        return replace(line, image=image)

    return apply


def svtr_augment(
    *,
    aug_type: int = 0,
    geometry_p: float = 0.5,
    deterioration_p: float = 0.25,
    deterioration_factor: float | None = 4,
    colorjitter_p: float = 0.25,
) -> Transform[TextLine]:
    """The three transforms of this module one after the other, with the options of MindOCR's SVTRRecAug."""
    steps = (
        geometry(aug_type=aug_type, degrees=45, translate=(0.0, 0.0), p=geometry_p),
        deterioration(variance=20, degrees=6, factor=deterioration_factor, p=deterioration_p),
        colour_jitter(p=colorjitter_p),
    )

    def apply(line: TextLine, draw: Draw) -> TextLine:
        for step in steps:
            line = step(line, draw)
        return line

    return apply


def _around(draw: Draw, most: float) -> float:
    """A number between -most and most, small ones more likely."""
    return float((draw.beta(4, 4) - 0.5) * 2 * most)


def _rotation(angle: float) -> Matrix:
    sine, cosine = np.sin(angle), np.cos(angle)
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])


def _corners(width: int, height: int) -> NDArray[np.float32]:
    return np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)


def _warp(image: Image, matrix: Matrix, interpolation: int) -> Image:
    """The image under a perspective map, on the smallest canvas that holds it."""
    height, width = image.shape[:2]
    moved = cv2.perspectiveTransform(_corners(width, height)[None].astype(np.float64), matrix)[0]
    low, high = np.floor(moved.min(axis=0)), np.ceil(moved.max(axis=0))
    w, h = (int(side) for side in np.maximum(high - low, 1))
    if max(w, h) > MAX_SIDE:
        return image
    onto = np.array([[1.0, 0.0, -low[0]], [0.0, 1.0, -low[1]], [0.0, 0.0, 1.0]])
    warped: Image = cv2.warpPerspective(
        image, onto @ matrix, (w, h), flags=interpolation, borderMode=cv2.BORDER_REPLICATE
    )
    return warped


def _shifted(image: Image, by: Sequence[int]) -> Image:
    """The image shifted by (x, y) on a larger canvas."""
    x, y = by
    left, top = max(x, 0), max(y, 0)
    shifted: Image = cv2.copyMakeBorder(image, top, top - y, left, left - x, cv2.BORDER_REPLICATE)
    return shifted


def noisy(image: Image, draw: Draw, variance: float) -> Image:
    """The image with normal noise of a variance from 1 to `variance`."""
    deviation = max(1.0, float(draw.beta(1, 4)) * variance) ** 0.5
    noise = draw.standard_normal(image.shape, np.float32) * np.float32(deviation)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


def _moved(image: Image, draw: Draw, longest: float) -> Image:
    length = max(1, int(draw.beta(1, 4) * longest))
    kernel = np.zeros((length, length), np.float32)
    kernel[length // 2] = 1
    turned = cv2.warpAffine(
        kernel, cv2.getRotationMatrix2D((length // 2, length // 2), draw.uniform(-90, 90), 1), (length, length)
    )
    blurred: Image = cv2.filter2D(image, -1, turned / max(float(turned.sum()), 1e-6))
    return blurred


def _coarser(image: Image, draw: Draw, most: float) -> Image:
    halvings = round(draw.uniform(0, most))
    if not halvings:
        return image
    height, width = image.shape[:2]
    small = cv2.resize(image, PYRAMID, interpolation=int(draw.choice(INTERPOLATIONS)))
    for _ in range(halvings):
        small = cv2.pyrDown(small)
    back: Image = cv2.resize(small, (width, height), interpolation=int(draw.choice(INTERPOLATIONS)))
    return back
