"""What a network read in an image of a line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """A text and how sure the network is: the mean probability of its characters, 0 for an empty text."""

    text: str
    confidence: float
