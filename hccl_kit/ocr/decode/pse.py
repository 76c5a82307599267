"""From the maps of PSENet to boxes: progressive scale expansion of the smallest kernels.

After Wang et al. 2019, "Shape Robust Text Detection with Progressive Scale Expansion Network", 3.2. A text grows
from one of the smallest kernels; where two meet, the pixel belongs to the first, so that adjacent texts stay apart.
"""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.data.pages.pages import Shape
from hccl_kit.ocr.decode.boxes import Box, Decode, to_source
from hccl_kit.ocr.polygons import clockwise

STRIDE = 4
"""Pixels of the image per pixel of the maps."""


def pse_postprocess(
    *, binary_thresh: float = 0.5, box_thresh: float = 0.85, min_area: int = 16, box_type: str = "quad", scale: int = 4
) -> Decode:
    """A decoder of logits (kernels + 1, H/4, W/4) with MindOCR's options.

    The logits are resized to 1/`scale` of the image; those above `binary_thresh` are text. Smallest kernels and texts
    of fewer than `min_area` pixels are dropped, and texts with a mean probability below `box_thresh`.
    `box_type` "quad": rotated rectangles, clockwise from the upper left corner; "poly": polygons.
    """
    fit = _quad if box_type == "quad" else _polygon

    def decode(maps: NDArray[np.float32], shape: Shape | None) -> list[Box]:
        factor = STRIDE // scale
        size = maps.shape[2] * factor, maps.shape[1] * factor
        logits = np.stack([cv2.resize(pixels, size, interpolation=cv2.INTER_LINEAR) for pixels in maps])
        kernels = (logits > binary_thresh) & (logits[:1] > binary_thresh)
        probability = 1 / (1 + np.exp(-np.clip(logits[0], -50, 50)))
        boxes = []
        for text in _regions(expand(kernels, min_area)):
            score = float(probability[text].mean())
            if len(text[0]) >= min_area and score >= box_thresh:
                boxes.append(Box(fit(text) * np.float32(scale), score))
        return to_source(boxes, shape)

    return decode


def expand(kernels: NDArray[np.bool_], min_area: int) -> NDArray[np.int32]:
    """Labels (h, w) of the texts, from 1 on, 0 for background, from kernels (n, h, w), large to small.

    Breadth-first: the pixels nearest to a smallest kernel join first.
    """
    labels = _smallest(kernels[-1], min_area)
    padded = np.pad(labels, 1)
    around = (-padded.shape[1], -1, 1, padded.shape[1])
    flat = padded.ravel()
    for kernel in kernels[-2::-1]:
        free = np.pad(kernel, 1).ravel() & (flat == 0)
        edge = np.flatnonzero(flat)
        while len(edge):
            grown = [edge[free[edge + step]] + step for step in around]
            for step, reached in zip(around, grown, strict=True):
                taken = reached[free[reached]]
                flat[taken] = flat[taken - step]
                free[taken] = False
            edge = np.unique(np.concatenate(grown))
    return padded[1:-1, 1:-1]


def _smallest(kernel: NDArray[np.bool_], min_area: int) -> NDArray[np.int32]:
    """Labels of the connected components of at least `min_area` pixels, from 1 on."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(kernel.astype(np.uint8), connectivity=4)
    kept = stats[:, cv2.CC_STAT_AREA] >= min_area
    kept[0] = False
    numbers = np.where(kept, np.cumsum(kept), 0).astype(np.int32)
    return numbers[labels]


def _regions(labels: NDArray[np.int32]) -> Iterator[tuple[NDArray[np.intp], ...]]:
    """The rows and columns of the pixels of each text."""
    rows, columns = np.nonzero(labels)
    numbers = labels[rows, columns]
    order = np.argsort(numbers, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
        if len(part):
            yield rows[part], columns[part]


def _points(text: tuple[NDArray[np.intp], ...]) -> NDArray[np.int32]:
    return np.stack(text[::-1], axis=1).astype(np.int32)


def _quad(text: tuple[NDArray[np.intp], ...]) -> NDArray[np.float32]:
    """The minimum-area rectangle (4, 2) of pixels."""
    return clockwise(cv2.boxPoints(cv2.minAreaRect(_points(text))))


def _polygon(text: tuple[NDArray[np.intp], ...]) -> NDArray[np.float32]:
    """The contour (n, 2) of connected pixels."""
    points = _points(text)
    low = points.min(axis=0)
    width, height = points.max(axis=0) - low + 1
    mask = np.zeros((height, width), np.uint8)
    mask[points[:, 1] - low[1], points[:, 0] - low[0]] = 1
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    outline: NDArray[np.float32] = (contours[0][:, 0] + low).astype(np.float32)
    return outline
