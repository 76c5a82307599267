"""What is known about ranks after any events: without processes, and with times that the tests choose."""

import pytest

from hccl_kit.selftest.protocol import Alive, Done, Event, Gone, Loaded, Ready, Result, Stopped
from hccl_kit.selftest.rank_states import RankStates

SILENCE = 6.0
RESULT = Result((), (1.0, 2.0))


def after(events: list[Event], *, ranks: int = 2, shares_fate: bool = False) -> RankStates:
    """The ranks after these events, one a second."""
    states = RankStates(range(ranks), shares_fate=shares_fate)
    for now, event in enumerate(events):
        states.hear(event, float(now))
    return states


def losses(states: RankStates) -> list[tuple[int, str, str]]:
    return [(loss.rank, loss.how, loss.detail) for loss in states.losses()]


def test_how_a_rank_ended_depends_on_how_far_it_came() -> None:
    for events, how in (([], "not started"), ([Loaded(1)], "not started"), ([Ready(1)], "dead")):
        assert losses(after([*events, Gone(1, "signal 9")])) == [(1, how, "signal 9")]


def test_a_rank_that_gives_no_sign_of_life_while_others_do_is_lost() -> None:
    states = after([Ready(0), Ready(1), *[Alive(0)] * 7])
    states.lose_silent([0, 1], 8.0, SILENCE)
    assert losses(states) == [(1, "stopped", "no sign of life for 6 s")]


def test_if_nobody_gives_a_sign_of_life_all_are_lost() -> None:
    for now, wanted in ((2 * SILENCE, []), (2 * SILENCE + 1.5, [0, 1])):
        states = after([Ready(0), Ready(1)])
        states.lose_silent([0, 1], now, SILENCE)
        assert sorted(states.lost) == wanted


def test_a_stopped_process_gives_no_sign_of_life() -> None:
    turns: list[Event] = [Alive(0), Stopped(1, 1.0)] * 4
    states = after([Ready(0), Ready(1), *turns])
    states.lose_silent([0, 1], 9.0, SILENCE)
    assert losses(states) == [(1, "stopped", "its process is stopped, as by SIGSTOP")]


def test_stops_count_from_when_the_rank_was_ready() -> None:
    states = after([Stopped(1, 1.0), Ready(0), Ready(1), Stopped(0, 0.0), Stopped(1, 0.4), Stopped(1, 0.8)])
    assert [states.stalled(rank) for rank in (0, 1)] == [0.0, pytest.approx(0.6)]
    assert states.lost == {}


def test_a_late_rank_takes_part_again_unless_the_ranks_share_their_fate() -> None:
    for shares_fate, available in ((False, [0, 1]), (True, [0])):
        states = after([Ready(0), Ready(1), Done(0, 1, RESULT)], shares_fate=shares_fate)
        states.lose_late(1, [0, 1])
        late = Result(problem="no end")
        assert states.results(1, [0, 1], "no end") == {0: RESULT, 1: late}
        assert (states.available(), states.is_over) == ([0], shares_fate)
        states.hear(Done(1, 1, RESULT), 9.0)
        assert states.available() == available


def test_of_ranks_that_share_their_fate_the_first_is_blamed() -> None:
    states = after([Ready(0), Ready(1), Gone(1, "x"), Gone(0, "y")], shares_fate=True)
    states.lose_without_result({0: "no end"})
    assert losses(states) == [(1, "dead", "x")]
    assert states.is_over


def test_ranks_that_did_not_load_are_lost_before_those_that_wait_for_them() -> None:
    reasons: dict[str, list[Event]] = {
        "no sign of it within 5 s": [],
        "its framework did not load within 5 s": [Alive(1)],
        "it did not join the group within 5 s": [Loaded(0), Loaded(1)],
    }
    for why, events in reasons.items():
        states = after([*events, Ready(0)])
        states.lose_unready(5.0)
        assert losses(states) == [(1, "not started", why)]
    states = after([Loaded(0), Alive(1)])
    states.lose_unready(5.0)
    assert sorted(states.lost) == [1]


def test_a_rank_that_was_ready_stays_ready() -> None:
    """Or ranks with alternating states would delay the start for ever."""
    states = after([Ready(1), Loaded(1)])
    assert (states.unready(), states.phases()) == ([0], ["started", "ready"])
