"""Recall, precision and harmonic mean of text detection (Karatzas et al. 2015, ICDAR 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from hccl_kit.ocr.metrics.counts import Counts

IOU = 0.5
"""Intersection over union above which a box matches a text."""
IGNORED_SHARE = 0.5
"""A box does not count if more than this share of it lies on one ignored text."""


@dataclass(frozen=True, slots=True)
class BoxCounts(Counts):
    """Sums over pages: ground truth texts, those `found`, and `false` positives."""

    texts: float = 0.0
    found: float = 0.0
    false: float = 0.0

    def __str__(self) -> str:
        """`12 of 15 found, 2 false: h-mean 82.76%`."""
        counts = f"{int(self.found)} of {int(self.texts)} found, {int(self.false)} false"
        return f"{counts}: h-mean {self.f_score:.2%}"

    def row(self) -> dict[str, float]:
        """The counts and the scores."""
        counts = {"texts": int(self.texts), "found": int(self.found), "false": int(self.false)}
        return {**counts, "recall": self.recall, "precision": self.precision, "f-score": self.f_score}

    def score(self, indicator: str) -> float:
        """The one that `metric.main_indicator` names: f-score, recall or precision."""
        return self.row()[indicator]

    @property
    def recall(self) -> float:
        """Found texts over all texts; 0 without texts."""
        return self.found / self.texts if self.texts else 0.0

    @property
    def precision(self) -> float:
        """Found texts over found texts and false positives; 0 without boxes."""
        boxes = self.found + self.false
        return self.found / boxes if boxes else 0.0

    @property
    def f_score(self) -> float:
        """The harmonic mean of recall and precision, the h-mean of ICDAR."""
        both = self.texts + self.found + self.false
        return 2 * self.found / both if both else 0.0


def compare(
    boxes: Sequence[NDArray[Any]], texts: NDArray[Any], ignored: NDArray[np.bool_], *, count_duplicates: bool = False
) -> BoxCounts:
    """The counts of one page: boxes, each (n, 2), and ground truth polygons (N, P, 2), some of them `ignored` (N,).

    A box matches the first text that it overlaps. A second box on one text is neither right nor false, as in MindOCR;
    with `count_duplicates` it is a false positive, as in ICDAR: each text takes the first free box.
    """
    found, truth = [_shape(box) for box in boxes], [_shape(text) for text in texts]
    on_ignored = _intersections(found, [truth[n] for n in np.flatnonzero(ignored)])
    limits = IGNORED_SHARE * np.array([shape.area for shape in found])
    counted = [n for n in range(len(found)) if not (on_ignored[n] > limits[n]).any()]
    fits = _overlaps([found[n] for n in counted], [truth[n] for n in np.flatnonzero(~ignored)]) > IOU
    right, false = _each_text_takes(fits) if count_duplicates else _each_box_takes(fits)
    return BoxCounts(float(fits.shape[1]), float(right), float(false))


def _each_box_takes(fits: NDArray[np.bool_]) -> tuple[int, int]:
    """Texts that some box matches, and boxes that match none; `fits` is (boxes, texts)."""
    fitting = fits[fits.any(axis=1)]
    return len(set(fitting.argmax(axis=1).tolist())) if len(fitting) else 0, len(fits) - len(fitting)


def _each_text_takes(fits: NDArray[np.bool_]) -> tuple[int, int]:
    """Texts that get a free box, and boxes that are left; `fits` is (boxes, texts)."""
    taken = np.zeros(len(fits), bool)
    for text in fits.T:
        free = text & ~taken
        if free.any():
            taken[free.argmax()] = True
    return int(taken.sum()), int((~taken).sum())


def _shape(points: NDArray[Any]) -> Any:
    """A valid geometry: the parts of a polygon that crosses itself, empty for one without area."""
    return shapely.make_valid(shapely.Polygon(np.asarray(points, np.float64)))


def _overlaps(ones: Sequence[Any], others: Sequence[Any]) -> NDArray[np.float64]:
    """Intersection over union of all pairs, (n, m)."""
    shared = _intersections(ones, others)
    union = np.array([s.area for s in ones])[:, None] + np.array([s.area for s in others]) - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def _intersections(ones: Sequence[Any], others: Sequence[Any]) -> NDArray[np.float64]:
    """The shared areas of all pairs, (n, m); only pairs with overlapping bounding boxes are computed."""
    areas = np.zeros((len(ones), len(others)))
    if areas.size:
        mine, theirs = shapely.STRtree(others).query(ones)
        shared = shapely.intersection(np.array(ones)[mine], np.array(others)[theirs])
        areas[mine, theirs] = shapely.area(shared)
    return areas
