"""The accuracy of a classifier."""

from __future__ import annotations

from dataclasses import dataclass

from hccl_kit.ocr.metrics.counts import Counts


@dataclass(frozen=True, slots=True)
class ClassCounts(Counts):
    """Sums over images: all, and those classified correctly."""

    images: float = 0.0
    right: float = 0.0

    def __str__(self) -> str:
        """`136 of 140 images right (97.14%)`."""
        return f"{int(self.right)} of {int(self.images)} images right ({self.accuracy:.2%})"

    def row(self) -> dict[str, float]:
        """The counts and the scores."""
        return {"images": int(self.images), "right": int(self.right), "accuracy": self.accuracy}

    def score(self, indicator: str) -> float:
        """The accuracy: `acc` is the only indicator."""
        del indicator
        return self.accuracy

    @property
    def accuracy(self) -> float:
        """Right images over all images; 0 without images."""
        return self.right / self.images if self.images else 0.0
