"""The state of a job from the states of its ranks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.watch.view import GONE, SHOWN, State, WatchedRank, chosen, duration, job, problems

states = st.sampled_from(("failed", "silent", "ended", "running", "starting", "done", "unknown"))


@pytest.mark.parametrize(
    ("of_ranks", "expected"),
    [
        (["done", "done"], "done"),
        (["done", "running"], "running"),
        (["running", "silent"], "silent"),
        (["starting", "running"], "running"),
        (["failed", "silent", "ended"], "failed"),
        (["ended", "done"], "ended"),
        (["starting", "unknown"], "starting"),
        ([], "unknown"),
    ],
)
def test_the_state_of_a_job(of_ranks: list[State], expected: str) -> None:
    assert job("x", 0.0, [WatchedRank(number, state) for number, state in enumerate(of_ranks)]).state == expected


def test_a_job_is_not_done_while_ranks_are_missing() -> None:
    assert job("x", 0.0, [WatchedRank(0, "done")], size=2).state == "running"


@given(st.lists(st.builds(WatchedRank, st.integers(0, 99), states, idle_s=st.none() | st.floats(0, 1e9)), max_size=60))
def test_failed_silent_and_first_ranks_are_shown(ranks: list[WatchedRank]) -> None:
    ranks = list({rank.rank: rank for rank in ranks}.values())
    shown = chosen(ranks)
    assert len(shown) == min(SHOWN, len(ranks))
    assert [rank.rank for rank in shown] == sorted({rank.rank for rank in shown})
    bad = [rank for rank in ranks if rank.state in ("failed", "silent")]
    if len(bad) < SHOWN:
        assert all(rank in shown for rank in bad)
    assert all(rank in shown for rank in ranks if rank.rank == 0)


def test_a_long_list_of_failures_is_truncated() -> None:
    seen = job(
        "x",
        0.0,
        [*(WatchedRank(n, "failed", why="x") for n in range(9)), *(WatchedRank(n, "silent") for n in range(10, 20))],
    )
    assert problems(seen) == [
        *(f"rank {n} failed: x" for n in range(3)),
        "no sign of life from ranks 10, 11, 12, 13, 14, 15 and 4 more for 0.0 s",
    ]


@pytest.mark.parametrize(("ages", "is_over"), [([], False), ([None, 99], False), ([GONE, 99], False), ([61, 99], True)])
def test_a_job_is_over_if_no_rank_shows_signs_of_life(ages: list[float | None], is_over: bool) -> None:
    seen = job("x", 0.0, [WatchedRank(number, "silent", silent_s=age) for number, age in enumerate(ages)])
    assert seen.is_over is is_over


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "-"), (0.04, "0.0 s"), (9.94, "9.9 s"), (12.3, "12 s"), (89, "89 s"), (90, "2 min"), (7200, "2.0 h")],
)
def test_formats_durations(value: float | None, expected: str) -> None:
    assert duration(value) == expected
