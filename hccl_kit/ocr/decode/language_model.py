"""A language model of characters: how likely a character is after those before it, in texts like those to be read.

Counts of n-grams, interpolated as Witten and Bell (1991) propose: the more different characters follow a context, the
more the context without its first character counts. Case is ignored.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

EDGE = "\n"
"""Stands before and after each text: no line of text contains it."""
REMEMBERED = 1 << 18
"""Maximum number of cached probabilities; 50 MB."""
UNKNOWN = -9.0
"""The logarithm of the probability of a character that is in no text, for `likeness`: about 1 of 8,000."""
UNSEEN = 5
"""Every fifth text is unseen by the model that measures how like each other texts are."""
FEW = 20
"""Fewer unseen texts measure nothing."""
LEAST_LIKE = 0.05
"""The share of unseen texts that count as unlike the others."""


class LanguageModel:
    """The probabilities of characters after the `order` - 1 characters before them, counted in `texts`.

    It has no probabilities for characters that are in no text.
    """

    def __init__(self, texts: Iterable[str], *, order: int) -> None:
        self._before = EDGE * (order - 1)
        self._followers: dict[str, Counter[str]] = defaultdict(Counter)
        for text, times in Counter(text.lower() for text in texts).items():
            padded = f"{self._before}{text}{EDGE}"
            for end in range(order - 1, len(padded)):
                for length in range(order):
                    self._followers[padded[end - length : end]][padded[end]] += times
        self._followers.default_factory = None
        self._characters = frozenset(self._followers.get("", ()))
        self._totals = {context: counts.total() + len(counts) for context, counts in self._followers.items()}
        self._remembered = lru_cache(REMEMBERED)(self._log_probability)

    def knows(self, character: str) -> bool:
        """Whether a text has the character, in either case."""
        return character.lower() in self._characters

    def log_probability(self, character: str, before: str) -> float:
        """The logarithm of the probability of a known character after `before`; of EDGE: that the text ends."""
        context = f"{self._before}{before}"[len(before) :].lower()
        return self._remembered(context, character)

    def likeness(self, text: str) -> float:
        """The mean of the logarithms of the probabilities of its characters: how like the texts of the model it is."""
        logs = (
            self.log_probability(character, text[:end]) if self.knows(character) else UNKNOWN
            for end, character in enumerate(text)
        )
        return sum(logs) / len(text) if text else 0.0

    def _log_probability(self, context: str, character: str) -> float:
        return math.log(self._probability(context, character.lower()))

    def _probability(self, context: str, character: str) -> float:
        shorter = self._probability(context[1:], character) if context else 1 / len(self._characters)
        counts = self._followers.get(context)
        if counts is None:
            return shorter
        return (counts[character] + len(counts) * shorter) / self._totals[context]


def lowest_likeness(texts: Sequence[str], *, order: int) -> float:
    """The likeness below which a text is unlike `texts`: 5 % of those that a model has not seen are less like them."""
    seen = [text for number, text in enumerate(texts) if number % UNSEEN]
    model = LanguageModel(seen, order=order)
    likenesses = sorted(model.likeness(text) for text in texts[::UNSEEN])
    return likenesses[int(len(likenesses) * LEAST_LIKE)] if len(likenesses) >= FEW else -math.inf
