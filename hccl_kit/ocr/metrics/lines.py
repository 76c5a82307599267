"""Metrics of lines: word accuracy and normalised edit distance (ICDAR 2019), and the accuracy of a classifier."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hccl_kit.ocr.metrics.counts import Counts, standard_error

SYMBOLS = re.compile(r"[^A-Za-z0-9^\u4e00-\u9fa5]")
"""The characters that MindOCR calls symbols: ^ is not among them."""


@dataclass(frozen=True, slots=True)
class WordCounts(Counts):
    """Sums over words: all, those that are right by the metric, and `similarity`, 1 - edit distance / longer length.

    The other sums do not depend on what the metric ignores: words that are `exact`, right without their spaces, right
    but for the case of letters; the edit distances of words as they are, and the characters of their labels.
    """

    words: float = 0.0
    right: float = 0.0
    similarity: float = 0.0
    exact: float = 0.0
    without_spaces: float = 0.0
    case_folded: float = 0.0
    edits: float = 0.0
    characters: float = 0.0

    def __str__(self) -> str:
        """`136 of 140 words right (97.14%); standard error 1.41%, exact 90.00%, ...`."""
        shares = (f"{name.replace('_', ' ')} {share:.2%}" for name, share in self._shares().items())
        return f"{int(self.right)} of {int(self.words)} words right ({self.accuracy:.2%}); {', '.join(shares)}"

    def row(self) -> dict[str, float]:
        """The counts and the scores."""
        return {
            "words": int(self.words),
            "right": int(self.right),
            "word_accuracy": self.accuracy,
            "norm_edit_distance": self.norm_edit_distance,
            **self._shares(),
        }

    def _shares(self) -> dict[str, float]:
        return {
            "standard_error": standard_error(self.accuracy, self.words),
            "exact": self._share(self.exact),
            "without_spaces": self._share(self.without_spaces),
            "case_folded": self._share(self.case_folded),
            "character_error_rate": self.edits / self.characters if self.characters else 0.0,
        }

    def _share(self, words: float) -> float:
        return words / self.words if self.words else 0.0

    def score(self, indicator: str) -> float:
        """The one that `metric.main_indicator` names."""
        return self.accuracy if indicator == "acc" else self.norm_edit_distance

    @property
    def accuracy(self) -> float:
        """Exactly right words over all words; 0 without words."""
        return self._share(self.right)

    @property
    def norm_edit_distance(self) -> float:
        """The mean similarity, 1 if all words are right; the field names it after the distance."""
        return self._share(self.similarity)


def letters(text: str) -> str:
    """The text without symbols, as for `metric.ignore_symbol`."""
    return SYMBOLS.sub("", text)


def compare(read: str, truth: str, *, lower: bool, ignore_space: bool) -> WordCounts:
    """What the metric counts of one word."""
    read, truth = (_normal(text, lower=lower, ignore_space=ignore_space) for text in (read, truth))
    longest = max(len(read), len(truth), 1)
    return WordCounts(1.0, float(read == truth), 1.0 - edit_distance(read, truth) / longest)


def unaltered(read: str, label: str) -> WordCounts:
    """What is counted of one word whatever the metric ignores, without the word itself."""
    return WordCounts(
        exact=float(read == label),
        without_spaces=float(read.replace(" ", "") == label.replace(" ", "")),
        case_folded=float(read.casefold() == label.casefold()),
        edits=float(edit_distance(read, label)),
        characters=float(len(label)),
    )


def edit_distance(one: str, other: str) -> int:
    """Levenshtein distance: the fewest insertions, deletions and replacements of one character."""
    row = list(range(len(other) + 1))
    for n, a in enumerate(one, 1):
        diagonal, row[0] = row[0], n
        for m, b in enumerate(other, 1):
            diagonal, row[m] = row[m], min(row[m] + 1, row[m - 1] + 1, diagonal + (a != b))
    return row[-1]


def _normal(text: str, *, lower: bool, ignore_space: bool) -> str:
    text = text.lower() if lower else text
    return text.replace(" ", "") if ignore_space else text


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
