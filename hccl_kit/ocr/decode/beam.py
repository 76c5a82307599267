"""Prefix beam search of CTC outputs: the likeliest text according to the network and a language model.

The probabilities of all paths of one text are added up (Hannun et al., 2014, "First-Pass Large Vocabulary Continuous
Speech Recognition using Bi-Directional Recurrent DNNs").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.decode.language_model import EDGE, LanguageModel
from hccl_kit.ocr.decode.reading import Reading, ctc_readings

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
