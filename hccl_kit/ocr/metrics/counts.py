"""What all metrics share: sums over samples, which several ranks add up before anything is divided."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from math import sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

C = TypeVar("C", bound="Counts")


def standard_error(share: float, count: float) -> float:
    """That of a share of so many independent samples; 0 without samples."""
    return sqrt(share * (1 - share) / count) if count else 0.0


@dataclass(frozen=True, slots=True)
class Counts:
    """Sums over samples, each 0 by default, from which the scores of a data set follow."""

    def __add__(self: C, other: C) -> C:
        """The counts of both."""
        return type(self)(*(count + more for count, more in zip(astuple(self), astuple(other), strict=True)))

    def to_array(self) -> NDArray[np.float32]:
        """For an all-reduce: a value for each field. Exact up to 16 million samples."""
        return np.array(astuple(self), np.float32)

    @classmethod
    def from_array(cls: type[C], array: NDArray[np.float32]) -> C:
        """The inverse of `to_array`."""
        return cls(*map(float, array))

    def row(self) -> dict[str, float]:
        """The scores by the names they have in metrics.jsonl and summary.json."""
        raise NotImplementedError

    def score(self, indicator: str) -> float:
        """The score that `metric.main_indicator` names; higher is better."""
        raise NotImplementedError
