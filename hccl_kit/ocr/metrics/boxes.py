"""Recall, precision and harmonic mean of text detection (Karatzas et al. 2015, ICDAR 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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


class Matches(NamedTuple):
    """The number of the box that finds each text (N,), -1 for none, and which boxes are false positives (n,)."""

    box_of_text: NDArray[np.intp]
    false: NDArray[np.bool_]

    @property
    def found(self) -> NDArray[np.bool_]:
        """Which texts are found (N,)."""
        return self.box_of_text >= 0


def compare(
    boxes: Sequence[NDArray[Any]], texts: NDArray[Any], ignored: NDArray[np.bool_], *, count_duplicates: bool = False
) -> BoxCounts:
    """The counts of one page, from `match`."""
    matches = match(boxes, texts, ignored, count_duplicates=count_duplicates)
    return BoxCounts(float((~ignored).sum()), float(matches.found.sum()), float(matches.false.sum()))


def match(
    boxes: Sequence[NDArray[Any]], texts: NDArray[Any], ignored: NDArray[np.bool_], *, count_duplicates: bool = False
) -> Matches:
    """Match boxes of a page, each (n, 2), with ground truth polygons (N, P, 2), some of them `ignored` (N,).

    A box matches the first text that it overlaps. A second box on one text is neither right nor false, as in MindOCR;
    with `count_duplicates` it is a false positive, as in ICDAR: each text takes the first free box.
    """
    outlines, truth = [_shape(box) for box in boxes], [_shape(text) for text in texts]
    on_ignored = _intersections(outlines, [truth[n] for n in np.flatnonzero(ignored)])
    limits = IGNORED_SHARE * np.array([shape.area for shape in outlines])
    counted = np.array([n for n in range(len(outlines)) if not (on_ignored[n] > limits[n]).any()], np.intp)
    fits = _overlaps([outlines[n] for n in counted], [truth[n] for n in np.flatnonzero(~ignored)]) > IOU
    matches = _each_text_takes(fits) if count_duplicates else _each_box_takes(fits)
    box_of_text, false = np.full(len(truth), -1, np.intp), np.zeros(len(outlines), bool)
    text_numbers = np.flatnonzero(~ignored)[matches.found]
    box_of_text[text_numbers] = counted[matches.box_of_text[matches.found]]
    false[counted] = matches.false
    return Matches(box_of_text, false)


def _each_box_takes(fits: NDArray[np.bool_]) -> Matches:
    """Texts that are the first that some box matches, and boxes that match none; `fits` is (boxes, texts)."""
    box_of_text = np.full(fits.shape[1], -1, np.intp)
    matching = fits.any(axis=1)
    for box in np.flatnonzero(matching)[::-1]:  # of several boxes on a text the first one remains
        box_of_text[fits[box].argmax()] = box
    return Matches(box_of_text, ~matching)


def _each_text_takes(fits: NDArray[np.bool_]) -> Matches:
    """Texts that get a free box, and boxes that are left; `fits` is (boxes, texts)."""
    box_of_text, taken = np.full(fits.shape[1], -1, np.intp), np.zeros(len(fits), bool)
    for number, text in enumerate(fits.T):
        free = text & ~taken
        if free.any():
            box_of_text[number] = free.argmax()
            taken[free.argmax()] = True
    return Matches(box_of_text, ~taken)


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
