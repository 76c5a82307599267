"""What a rank gives to a collective, and what it must get back, to the last bit.

All values are small whole numbers, so that sums in float32 are exact in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hccl_kit.selftest.bandwidth import Operator
from hccl_kit.selftest.ranks.work import ITEM

if TYPE_CHECKING:
    from numpy.typing import NDArray

PERIOD = 13
"""A prime number, so that blocks of a power of 2 that change places are noticed."""


def count_of(size: int, ranks: int) -> int:
    """The elements of the whole array: about `size` bytes, and a multiple of the number of ranks."""
    return max(1, round(size / ITEM / ranks)) * ranks


def source(operator: Operator, place: int, ranks: int, count: int) -> NDArray[np.float32]:
    """What the rank at `place` of its group gives; `count` are the elements of the whole array."""
    if operator == "all_gather":
        share = count // ranks
        return _values(place * share, share, 0)
    return _values(0, count, place)


def expected(operator: Operator, place: int, ranks: int, count: int) -> NDArray[np.float32]:
    """What the rank at `place` must have afterwards."""
    share = count // ranks
    if operator == "all_reduce":
        return _sum(0, count, ranks)
    if operator == "reduce_scatter":
        return _sum(place * share, share, ranks)
    if operator == "all_to_all":
        return np.concatenate([_values(place * share, share, other) for other in range(ranks)])
    return _values(0, count, 0)


def _values(start: int, count: int, place: int) -> NDArray[np.float32]:
    return (np.arange(start, start + count) % PERIOD + place + 1).astype(np.float32)


def _sum(start: int, count: int, ranks: int) -> NDArray[np.float32]:
    return (np.arange(start, start + count) % PERIOD * ranks + ranks * (ranks + 1) // 2).astype(np.float32)
