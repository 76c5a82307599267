"""What all metrics share: sums over samples, which several ranks add up before anything is divided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from math import sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

C = TypeVar("C", bound="Counts")


def standard_error(share: float, count: float) -> float:
    """That of a share of so many independent samples; 0 without samples."""
    return sqrt(share * (1 - share) / count) if count else 0.0


def table(columns: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """The lines of a table: a column for each of the rows of scores, which have the same names."""
    widths = [max(10, len(name) + 2) for name in columns]
    yield f"{'':24}" + "".join(f"{name:>{width}}" for name, width in zip(columns, widths, strict=True))
    for name in next(iter(columns.values())):
        cells = (row[name] for row in columns.values())
        shown = (f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells)
        yield f"{name:24}" + "".join(f"{cell:>{width}}" for cell, width in zip(shown, widths, strict=True))


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
