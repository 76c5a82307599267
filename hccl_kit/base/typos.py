"""Typos: which key of a file, option or name is meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

MAX_UNKNOWN = 64
"""With more unknown keys than this, they are intentional, not typos."""


def is_typo(written: str, key: str) -> bool:
    """Whether `written` is `key` with one letter added, missing or replaced, two swapped, or other case or separators.

    A similarity ratio does not work here: by the share of equal letters, `device_type` is close to `device_ip`.
    """
    if written == key or abs(len(written) - len(key)) > key.count("_") + 1:
        return False
    start = _common(written, key)
    tail, key_tail = written[start:], key[start:]
    end = _common(tail[::-1], key_tail[::-1])
    odd, right = tail[: len(tail) - end], key_tail[: len(key_tail) - end]
    return (
        (len(odd) <= 1 and len(right) <= 1) or (len(odd) == 2 and odd == right[::-1]) or _plain(written) == _plain(key)
    )


def find_typos(unknown: Iterable[str], absent: Sequence[str]) -> Mapping[str, str]:
    """The unknown keys of an object that are a typo of exactly one absent key, with that key.

    A key is left out if it is close to two absent keys, or if two unknown keys are close to the same absent key.
    """
    few = list(islice(unknown, MAX_UNKNOWN + 1))
    if len(few) > MAX_UNKNOWN:
        return {}
    near = {written: [key for key in absent if is_typo(written, key)] for written in few}
    only = {written: keys[0] for written, keys in near.items() if len(keys) == 1}
    meant = [key for keys in near.values() for key in keys]
    return {written: key for written, key in only.items() if meant.count(key) == 1}


def nearest(word: str, words: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The word that is most similar, if its share of equal letters is at least `cutoff`."""
    from difflib import get_close_matches  # noqa: PLC0415 - only after a typo

    return next(iter(get_close_matches(word, list(words), n=1, cutoff=cutoff)), None)


def _common(first: str, second: str) -> int:
    """The length of the common prefix of two words."""
    pairs = enumerate(zip(first, second, strict=False))
    return next(
        (index for index, (first_letter, other) in pairs if first_letter != other), min(len(first), len(second))
    )


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "").replace(" ", "")
