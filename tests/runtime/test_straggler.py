"""A straggler is determined only by a rank's own time."""

from __future__ import annotations

import statistics

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.runtime.pulse import Span
from hccl_kit.runtime.straggler import SLOWER, WINDOWS, Streaks, lagging, slowest, straggler

times = st.floats(0.001, 100)
windows = st.builds(Span, steps=st.integers(1, 50), data_s=times, compute_s=times, communication_s=times)
jobs = st.dictionaries(st.integers(0, 40), windows, min_size=1, max_size=12)
rounds = st.integers(2, 8).flatmap(
    lambda size: st.lists(st.tuples(*[windows] * size), min_size=WINDOWS, max_size=WINDOWS + 2).map(
        lambda rows: [dict(enumerate(row)) for row in rows]
    )
)


def planted(excess: float, rank: int = 2, size: int = 8, *, part: str = "compute_s") -> dict[int, Span]:
    """Ranks that all take a tenth of a second for data and one second for computing; `rank` takes longer for one part.

    All steps take the same total time, because the others wait for the slow rank.
    """
    alike = Span(steps=10, data_s=1.0, compute_s=10.0)
    slow = alike._replace(**{part: getattr(alike, part) + 11.0 * excess})
    total = slow.data_s + slow.compute_s
    one = {number: slow if number == rank else alike for number in range(size)}
    return {number: each._replace(communication_s=total - each.data_s - each.compute_s) for number, each in one.items()}


@given(st.floats(0.11, 50), st.integers(2, 30), st.data(), st.sampled_from(["data_s", "compute_s"]))
def test_a_planted_straggler_is_named_with_its_part(excess: float, size: int, data: st.DataObject, part: str) -> None:
    rank = data.draw(st.integers(0, size - 1))
    found = straggler([planted(excess, rank, size, part=part)] * WINDOWS)
    assert found is not None
    assert (found.rank, f"{found.part}_s") == (rank, part)
    assert abs(found.excess - excess) < 1e-6


@given(st.floats(0, 0.09), st.integers(1, 30))
def test_a_rank_within_a_tenth_is_not_a_straggler(excess: float, size: int) -> None:
    assert straggler([planted(excess, 0, size)] * WINDOWS) is None


@given(rounds, st.data())
def test_communication_never_counts(each: list[dict[int, Span]], data: st.DataObject) -> None:
    others = [
        {rank: window._replace(communication_s=data.draw(st.floats(0, 1e6))) for rank, window in one.items()}
        for one in each
    ]
    assert straggler(each) == straggler(others)
    assert [lagging(one) for one in each] == [lagging(one) for one in others]
    assert slowest(each[0]) == slowest(others[0])


@given(jobs)
def test_at_most_half_of_the_ranks_lag(job: dict[int, Span]) -> None:
    found = lagging(job)
    assert 2 * len(found) <= len(job)
    assert found == {rank for rank, one in job.items() if len(job) > 1 and one.own > SLOWER * _median(job, rank)}


@given(rounds)
def test_a_straggler_lags_in_each_of_the_last_windows_and_is_slowest_of_those(each: list[dict[int, Span]]) -> None:
    found = straggler(each)
    always = frozenset.intersection(*map(lagging, each[-WINDOWS:]))
    assert (found is None) == (not always)
    if found:
        assert found.rank in always


@given(jobs)
def test_the_slowest_has_the_longest_own_time(job: dict[int, Span]) -> None:
    found = slowest(job)
    assert (found is None) == (len(job) < 2)
    if found:
        assert found.own_s == max(one.own for one in job.values())
        assert lagging(job) == frozenset() or found.rank in lagging(job)


def test_a_single_slow_window_is_not_a_straggler() -> None:
    calm, slow = planted(0.0), planted(5.0)
    assert straggler([slow] * (WINDOWS - 1)) is None
    assert straggler([slow, calm, slow, slow]) is None
    assert straggler([calm, *[slow] * WINDOWS]) is not None


def test_ranks_without_steps_are_ignored() -> None:
    nothing, one = Span(), Span(steps=1, data_s=1.0, compute_s=1.0)
    assert slowest({0: nothing, 1: one}) is None
    assert lagging({0: nothing, 1: one}) == frozenset()
    assert straggler([{0: nothing, 1: nothing}] * WINDOWS) is None


def test_two_ranks_are_compared_with_each_other() -> None:
    found = straggler([planted(0.5, 1, 2)] * WINDOWS)
    assert found is not None
    assert (found.rank, found.figures) == (
        1,
        "1.65 s a step for data and computing, the others 1.10 s (50% more)",
    )


def test_a_streak_begins_with_its_first_window_and_ends_with_a_normal_one() -> None:
    calm, slow = planted(0.0), planted(0.3)
    streaks = Streaks()
    named = []
    for first, window in zip(range(1, 81, 10), [calm, slow, slow, slow, slow, calm, slow, slow], strict=True):
        streaks = streaks.after(window, first)
        found = streaks.straggler(window)
        named.append(found and (found[0].rank, found[1]))
    assert named == [None, None, None, (2, 11), (2, 11), None, None, None]


@given(rounds)
def test_streaks_and_windows_name_the_same_ranks(each: list[dict[int, Span]]) -> None:
    """The trainer counts incrementally, `watch` uses the last windows."""
    streaks = Streaks()
    for number, one in enumerate(each):
        streaks = streaks.after(one, number)
    assert (streaks.straggler(each[-1]) is None) == (straggler(each) is None)


def _median(job: dict[int, Span], rank: int) -> float:
    others = [one.own for other, one in job.items() if other != rank]
    return statistics.median_high(others) if others else float("inf")
