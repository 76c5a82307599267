"""The accuracy of a classifier."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """Sums over images: all, and those classified correctly."""

    images: float = 0.0
    right: float = 0.0

    def __add__(self, other: ClassCounts) -> ClassCounts:
        """The counts of both."""
        return ClassCounts(self.images + other.images, self.right + other.right)

    def __str__(self) -> str:
        """`136 of 140 images right (97.14%)`."""
        return f"{int(self.right)} of {int(self.images)} images right ({self.accuracy:.2%})"

    def to_array(self) -> NDArray[np.float32]:
        """For an all-reduce: shape (2,). Exact up to 16 million images."""
        return np.array(astuple(self), np.float32)

    @classmethod
    def from_array(cls, array: NDArray[np.float32]) -> ClassCounts:
        """The inverse of `to_array`."""
        return cls(*map(float, array))

    def row(self) -> dict[str, float]:
        """The scores by the names they have in metrics.jsonl and summary.json."""
        return {"images": int(self.images), "right": int(self.right), "accuracy": self.accuracy}

    def score(self, indicator: str) -> float:
        """The accuracy: `acc` is the only indicator."""
        del indicator
        return self.accuracy

    @property
    def accuracy(self) -> float:
        """Right images over all images; 0 without images."""
        return self.right / self.images if self.images else 0.0
