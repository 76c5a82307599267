"""The text that a network reads in the image of a line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """A text and its confidence: the mean probability of its characters, 0 for an empty text."""

    text: str
    confidence: float
