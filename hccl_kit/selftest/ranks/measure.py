"""Measure collectives and arithmetic on one rank, and check what it gets back, to the last bit.

What it gives are small whole numbers, so that sums in float32 are exact in any order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hccl_kit.selftest.measured import GB, Operator
from hccl_kit.selftest.protocol import Timing
from hccl_kit.selftest.ranks.work import ITEM, Call, Group, Work

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIN_CALLS, MAX_CALLS = 3, 2000
_EXACT = 1 << 24
"""Whole numbers below this are exact in float32."""


class Seat(NamedTuple):
    """The place of this rank in a group of `ranks`."""

    group: Group
    place: int
    ranks: int


def collectives(seat: Seat, operator: Operator, sizes: Sequence[int], seconds: float, limit: float) -> Iterator[Timing]:
    """The time of one call for each size, ascending, from about `seconds` of calls; the result is checked before and
    after. A size that would take more than `limit` seconds for one call is left out, with all above it.
    """
    group, place, ranks = seat
    agree = _agreement(seat)
    estimate, before = 0.0, 1
    for size in sizes:
        count = count_of(size, ranks)
        if estimate * count / before > limit:
            return
        given = source(operator, place, ranks, count)
        wanted = expected(operator, place, ranks, count)
        call = group.call(operator, given, count)
        began = time.perf_counter()
        if not _once(call, wanted):  # nor could the ranks agree on a number of calls
            spent = time.perf_counter() - began
            yield Timing(count * ITEM, spent, spent, is_wrong=True)
            return
        times = _times(call.run, MIN_CALLS)
        estimate, before = agree(min(times)), count
        calls = min(MAX_CALLS, round(seconds / estimate))
        if calls > MIN_CALLS:  # a slow link, which a test waits for most, has been timed already
            times = _times(call.run, calls)
        yield Timing(count * ITEM, fmean(times), _fast(times), is_wrong=not _once(call, wanted))


def _once(call: Call, wanted: np.ndarray[tuple[int], np.dtype[np.float32]]) -> bool:
    call.fill()
    call.run()
    return bool(np.array_equal(call.result(), wanted))


def _times(run: Callable[[], object], calls: int) -> list[float]:
    """Seconds of each call."""
    clock = time.perf_counter
    marks = [clock()]
    for _ in range(calls):
        run()
        marks.append(clock())
    return [end - begin for begin, end in pairwise(marks)]


def _fast(times: Sequence[float]) -> float:
    """The 10th percentile: what the hardware can do, though other programs disturb most calls."""
    return sorted(times)[len(times) // 10]


def _agreement(seat: Seat) -> Callable[[float], float]:
    """The mean of a time over all ranks of the group, equal on all of them: all must do the same number of calls.

    A sum of one-hot rows of whole microseconds, since sums of float32 may differ in the last bit.
    """
    group, place, ranks = seat

    def agree(seconds: float) -> float:
        row = np.zeros(ranks * 2, np.float32)
        micro = max(1, round(seconds * 1e6))
        row[2 * place], row[2 * place + 1] = micro % 4096, min(micro // 4096, _EXACT)
        call = group.call("all_reduce", row, row.size)
        call.run()
        low, high = call.result().astype(np.float64).reshape(ranks, 2).T
        return float((low + 4096 * high).mean()) / 1e6

    return agree


def arithmetic(product: Work, copy: Work, seconds: float) -> tuple[float, float]:
    """GFLOP/s of a product of matrices, and GB/s that a copy of memory reads and writes; each for `seconds`."""
    product_s, copy_s = (_repeated(work.run, seconds) for work in (product, copy))
    return product.amount / product_s / 1e9, copy.amount / copy_s / GB


def _repeated(run: Callable[[], object], seconds: float) -> float:
    """The 10th percentile of the times of calls that take `seconds` together: a slow card is never fast."""
    run()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < MIN_CALLS or time.perf_counter() < end:
        times += _times(run, 1)
    return _fast(times)


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
