"""Prefix beam search of CTC outputs: the likeliest text according to the network and a language model of characters.

The probabilities of all paths of one text are added up (Hannun et al., 2014, "First-Pass Large Vocabulary Continuous
Speech Recognition using Bi-Directional Recurrent DNNs"). The language model has counts of n-grams, interpolated as
Witten and Bell (1991) propose: the more different characters follow a context, the more the context without its first
character counts. It ignores case.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.decode.reading import Reading, ctc_readings

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


UNLIKELY = 1e-3
"""Characters with less than this probability at a time step are not followed."""

Step = list[tuple[str, float]]
"""The characters to follow at a time step, "" for the blank, and the logarithms of their probabilities."""


@dataclass(slots=True)
class _Prefix:
    """The state of a prefix of a text; all values but `sure` are logarithms."""

    bias: float
    """The weighted score of the language model plus the bonus of each character."""
    sure: float
    """The sum of the probabilities of its characters, each at the time step where it is the surest."""
    blank: float = -math.inf
    """The probability of the paths that end with a blank."""
    character: float = -math.inf
    """The probability of the paths that end with its last character."""

    @property
    def paths(self) -> float:
        """The probability of all its paths."""
        return _sum(self.blank, self.character)


@dataclass(frozen=True, slots=True)
class BeamSearch:
    """Follows the `width` best prefixes of a text at a time.

    The score of a text is log p(network) + `weight` * log p(model) + `bonus` for each character. Without a bonus, short
    texts win. A character that the model does not know gets neither: lines in other scripts are read as the network
    reads them. So are lines whose reading by the network is less like the texts of the model than `lowest`: in other
    texts than its own, a model makes more mistakes than it corrects.
    """

    model: LanguageModel
    weight: float
    bonus: float
    width: int
    lowest: float = -math.inf

    def decode(self, probabilities: NDArray[np.float32], charset: Charset) -> list[Reading]:
        """Probabilities (N, T, classes), the blank last, to N readings."""
        return [
            alone if self.model.likeness(alone.text) < self.lowest else self._read(_steps(line, charset.characters))
            for line, alone in zip(probabilities, ctc_readings(probabilities, charset), strict=True)
        ]

    def _read(self, steps: Iterable[Step]) -> Reading:
        prefixes = {"": _Prefix(bias=0.0, sure=0.0, blank=0.0)}
        for step in steps:
            prefixes = self._best(self._longer(prefixes, step))
        best = max(prefixes, key=lambda text: _score(prefixes[text]) + self._gain(EDGE, text))
        return Reading(best, prefixes[best].sure / len(best) if best else 0.0)

    def _longer(self, prefixes: dict[str, _Prefix], step: Step) -> dict[str, _Prefix]:
        """The prefixes after one more time step."""
        after: dict[str, _Prefix] = {}
        for text, known in prefixes.items():
            paths = known.paths
            for character, log in step:
                is_repeated = bool(character) and text.endswith(character)
                if not character or is_repeated:
                    same = after.setdefault(text, _Prefix(known.bias, known.sure))
                    if is_repeated:  # without a blank between them two equal characters are one
                        same.character = _sum(same.character, known.character + log)
                    else:
                        same.blank = _sum(same.blank, paths + log)
                before = known.blank if is_repeated else paths
                if not character or before == -math.inf:
                    continue
                sure = known.sure + math.exp(log)
                longer = after.get(text + character)
                if longer is None:
                    longer = after[text + character] = _Prefix(known.bias + self._gain(character, text), sure)
                longer.character = _sum(longer.character, before + log)
                longer.sure = max(longer.sure, sure)
        return after

    def _best(self, prefixes: dict[str, _Prefix]) -> dict[str, _Prefix]:
        if len(prefixes) <= self.width:
            return prefixes
        ranked = sorted(prefixes.items(), key=lambda item: _score(item[1]), reverse=True)
        return dict(ranked[: self.width])

    def _gain(self, character: str, before: str) -> float:
        if not self.model.knows(character):
            return 0.0
        return self.weight * self.model.log_probability(character, before) + self.bonus


def _steps(probabilities: NDArray[np.float32], characters: str) -> Iterator[Step]:
    """The classes to follow at each step of probabilities (T, classes): the likeliest, and all from UNLIKELY on."""
    best = probabilities.argmax(axis=1)
    is_followed = probabilities >= UNLIKELY
    is_followed[np.arange(len(best)), best] = True
    for likely, row in zip(is_followed, probabilities, strict=True):
        numbers = np.flatnonzero(likely)
        logs = np.log(np.maximum(row[numbers], np.finfo(np.float32).tiny)).tolist()
        yield [(characters[number : number + 1], log) for number, log in zip(numbers.tolist(), logs, strict=True)]


def _score(prefix: _Prefix) -> float:
    return prefix.paths + prefix.bias


def _sum(one: float, other: float) -> float:
    """log(exp(one) + exp(other))."""
    more, less = max(one, other), min(one, other)
    return more if less == -math.inf else more + math.log1p(math.exp(less - more))
