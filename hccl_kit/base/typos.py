"""Slips of the hand in the keys of a file: which key was meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

MAX_UNKNOWN = 64
"""Whoever writes more different keys that nobody knows writes them on purpose."""


def is_slip(written: str, key: str) -> bool:
    """One letter too many, too few or another one, or two neighbours swapped; or only the case or the "_" differ.

    Less than this is the wrong measure here: by the share of equal letters, `device_type` is nearly `device_ip`.
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


def slips(unknown: Iterable[str], absent: Sequence[str]) -> Mapping[str, str]:
    """The unknown keys of an object that can only be meant for one of the keys absent from it, with that key.

    Nothing is said where an unknown key is near two absent ones, or two unknown keys near one absent.
    """
    few = list(islice(unknown, MAX_UNKNOWN + 1))
    if len(few) > MAX_UNKNOWN:
        return {}
    near = {written: [key for key in absent if is_slip(written, key)] for written in few}
    only = {written: keys[0] for written, keys in near.items() if len(keys) == 1}
    meant = [key for keys in near.values() for key in keys]
    return {written: key for written, key in only.items() if meant.count(key) == 1}


def _common(first: str, second: str) -> int:
    """How many letters two words begin with alike."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(first), len(second)))


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "").replace(" ", "")
