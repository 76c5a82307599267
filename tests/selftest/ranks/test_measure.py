"""Measurements on a fake network: ranks are threads, and results may be corrupted."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hccl_kit.selftest.measured import OPERATORS, Operator
from hccl_kit.selftest.protocol import Timing
from hccl_kit.selftest.ranks.backend import Call
from hccl_kit.selftest.ranks.measure import Seat, arithmetic, collectives, count_of, expected, source
from hccl_kit.selftest.ranks.work import ITEM, Work

pytestmark = pytest.mark.train


class Threads:
    """A group whose ranks are threads; a call takes `delay` seconds, and `spoil` changes the result of a rank."""

    def __init__(self, ranks: int, *, delay: float = 0.0, spoil: Callable[[int, Any], Any] = lambda _, x: x) -> None:
        self.ranks, self.delay, self.spoil = ranks, delay, spoil
        self.given: list[Any] = [None] * ranks
        self.barrier = threading.Barrier(ranks, timeout=8)
        self.calls = [0] * ranks

    def of(self, place: int) -> "One":
        return One(self, place)


class One:
    """The group from the view of one rank."""

    def __init__(self, all_ranks: Threads, place: int) -> None:
        self.all, self.place = all_ranks, place

    def call(self, operator: Operator, source: Any, _count: int) -> Call:
        result: list[Any] = [None]

        def run() -> None:
            self.all.calls[self.place] += 1
            self.all.given[self.place] = source
            self.all.barrier.wait()
            time.sleep(self.all.delay)
            result[0] = all_at_once(operator, list(self.all.given))[self.place]
            self.all.barrier.wait()

        return Call(lambda: None, run, lambda: self.all.spoil(self.place, result[0]))

    def close(self) -> None:
        """Nothing to close."""


def measured(group: Threads, operator: Operator, sizes: Sequence[int], limit: float = 10.0) -> list[list[Timing]]:
    found: list[list[Timing]] = [[] for _ in range(group.ranks)]

    def rank(place: int) -> None:
        seat = Seat(group.of(place), place, group.ranks)
        with suppress(threading.BrokenBarrierError):
            for timing in collectives(seat, operator, sizes, 0.02, limit):
                found[place].append(timing)

    threads = [threading.Thread(target=rank, args=(place,)) for place in range(group.ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


@pytest.mark.parametrize("operator", OPERATORS)
def test_correct_results_are_timed(operator: Operator) -> None:
    for timings in measured(Threads(3, delay=0.002), operator, [120, 1200]):
        assert [(timing.size, timing.is_wrong) for timing in timings] == [(120, False), (1200, False)]
        assert all(0.002 <= timing.fast <= timing.seconds < 30 for timing in timings)


def test_all_ranks_make_the_same_number_of_calls() -> None:
    """Otherwise a rank would wait forever."""
    group = Threads(4, delay=0.001)
    assert all(len(timings) == 3 for timings in measured(group, "all_reduce", [16, 64, 256]))
    assert len(set(group.calls)) == 1


def test_a_slow_size_is_timed_with_the_minimum_number_of_calls() -> None:
    """One call checks, three are timed, one checks again; before the last one, the ranks agree in another call."""
    group = Threads(2, delay=0.02)
    measured(group, "all_reduce", [64])
    assert group.calls == [6, 6]


def test_a_wrong_result_is_detected_on_its_rank() -> None:
    def spoil(place: int, values: Any) -> Any:
        return values + 1 if place == 1 and values.size > 8 else values

    found = measured(Threads(2, spoil=spoil), "all_gather", [400])
    assert [one.is_wrong for one in found[1]] == [True]


def test_a_size_that_would_take_too_long_is_skipped() -> None:
    found = measured(Threads(2, delay=0.02), "all_reduce", [64, 640, 640_000], limit=1.0)
    assert [[timing.size for timing in timings] for timings in found] == [[64, 640]] * 2


def test_the_speed_of_a_product_and_of_a_copy_are_measured() -> None:
    sleep = Work(lambda: time.sleep(0.004), 8e6)
    gflops, memory = arithmetic(sleep, sleep, 0.02)
    assert 0 < gflops <= 2
    assert 0 < memory <= 2


def all_at_once(operator: Operator, given_by: list[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """The definition of each operator."""
    ranks = len(given_by)
    if operator == "all_gather":
        return [np.concatenate(given_by)] * ranks
    if operator == "broadcast":
        return [given_by[0]] * ranks
    if operator == "all_reduce":
        return [np.sum(given_by, axis=0)] * ranks
    parts = [np.split(one, ranks) for one in given_by]
    if operator == "reduce_scatter":
        return [np.sum([part[place] for part in parts], axis=0) for place in range(ranks)]
    return [np.concatenate([part[place] for part in parts]) for place in range(ranks)]


@given(operator=st.sampled_from(OPERATORS), ranks=st.integers(1, 9), size=st.integers(1, 5000))
def test_expected_results_match_the_definition(operator: Operator, ranks: int, size: int) -> None:
    count = count_of(size, ranks)
    results = all_at_once(operator, [source(operator, place, ranks, count) for place in range(ranks)])
    for place, result in enumerate(results):
        wanted = expected(operator, place, ranks, count)
        assert wanted.dtype == np.float32
        np.testing.assert_array_equal(result, wanted)


@given(ranks=st.integers(1, 1000), size=st.integers(1, 1 << 30))
def test_the_array_has_about_the_requested_size_and_can_be_split(ranks: int, size: int) -> None:
    count = count_of(size, ranks)
    assert count % ranks == 0
    assert count >= ranks
    assert abs(count * ITEM - size) <= max(ranks * ITEM, size)


@pytest.mark.parametrize("ranks", [2, 3, 4096])
def test_a_sum_of_all_ranks_is_exact(ranks: int) -> None:
    """Every partial sum is an integer below 2**24, so float32 represents it exactly in any order."""
    assert expected("all_reduce", 0, ranks, ranks * 13).max() < 2**24


@pytest.mark.parametrize("operator", OPERATORS)
def test_swapped_blocks_and_ranks_are_detected(operator: Operator) -> None:
    count = count_of(64 * ITEM * 4, 4)
    wanted = expected(operator, 1, 4, count)
    assert not np.array_equal(np.roll(wanted, 16), wanted)
    if operator in ("reduce_scatter", "all_to_all"):
        assert not np.array_equal(expected(operator, 2, 4, count), wanted)
