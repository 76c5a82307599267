"""The accuracy of a classifier."""

from __future__ import annotations

from dataclasses import dataclass

from hccl_kit.ocr.metrics.counts import Counts, standard_error


@dataclass(frozen=True, slots=True)
class ClassCounts(Counts):
    """Sums over images: all, and those classified correctly."""

    images: float = 0.0
    right: float = 0.0

    def __str__(self) -> str:
        """`136 of 140 images right (97.14%); standard error 1.41%`."""
        right = f"{int(self.right)} of {int(self.images)} images right ({self.accuracy:.2%})"
        return f"{right}; standard error {self.standard_error:.2%}"

    def row(self) -> dict[str, float]:
        """The counts and the scores."""
        return {
            "images": int(self.images),
            "right": int(self.right),
            "accuracy": self.accuracy,
            "standard_error": self.standard_error,
        }

    def score(self, indicator: str) -> float:
        """The accuracy: `acc` is the only indicator."""
        del indicator
        return self.accuracy

    @property
    def accuracy(self) -> float:
        """Right images over all images; 0 without images."""
        return self.right / self.images if self.images else 0.0

    @property
    def standard_error(self) -> float:
        """That of the accuracy."""
        return standard_error(self.accuracy, self.images)
