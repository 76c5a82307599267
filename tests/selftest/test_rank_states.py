"""What is known about ranks after any events: without processes, and with times that the tests choose."""

import pytest

from hccl_kit.selftest.protocol import Event, Result
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
    for events, how in (([], "not started"), ([Event(1, "loaded")], "not started"), ([Event(1, "ready")], "dead")):
        assert losses(after([*events, Event(1, "gone", detail="signal 9")])) == [(1, how, "signal 9")]


def test_a_rank_that_gives_no_sign_of_life_while_others_do_is_lost() -> None:
    states = after([Event(0, "ready"), Event(1, "ready"), *[Event(0, "alive")] * 7])
    states.lose_silent([0, 1], 8.0, SILENCE)
    assert losses(states) == [(1, "stopped", "no sign of life for 6 s")]


def test_if_nobody_gives_a_sign_of_life_all_are_lost() -> None:
    for now, wanted in ((2 * SILENCE, []), (2 * SILENCE + 1.5, [0, 1])):
        states = after([Event(0, "ready"), Event(1, "ready")])
        states.lose_silent([0, 1], now, SILENCE)
        assert sorted(states.lost) == wanted


def test_a_stopped_process_gives_no_sign_of_life() -> None:
    turns: list[Event] = [Event(0, "alive"), Event(1, "state", stopped=1.0)] * 4
    states = after([Event(0, "ready"), Event(1, "ready"), *turns])
    states.lose_silent([0, 1], 9.0, SILENCE)
    assert losses(states) == [(1, "stopped", "its process is stopped, as by SIGSTOP")]


def test_stops_count_from_when_the_rank_was_ready() -> None:
    states = after(
        [
            Event(1, "state", stopped=1.0),
            Event(0, "ready"),
            Event(1, "ready"),
            Event(0, "state", stopped=0.0),
            Event(1, "state", stopped=0.4),
            Event(1, "state", stopped=0.8),
        ]
    )
    assert [states.stalled(rank) for rank in (0, 1)] == [0.0, pytest.approx(0.6)]
    assert states.lost == {}


def test_a_late_rank_takes_part_again_unless_the_ranks_share_their_fate() -> None:
    for shares_fate, available in ((False, [0, 1]), (True, [0])):
        states = after(
            [Event(0, "ready"), Event(1, "ready"), Event(0, "result", step=1, result=RESULT)], shares_fate=shares_fate
        )
        states.lose_late(1, [0, 1])
        late = Result(problem="no end")
        assert states.results(1, [0, 1], "no end") == {0: RESULT, 1: late}
        assert (states.available(), states.is_over) == ([0], shares_fate)
        states.hear(Event(1, "result", step=1, result=RESULT), 9.0)
        assert states.available() == available


def test_of_ranks_that_share_their_fate_the_first_is_blamed() -> None:
    states = after(
        [Event(0, "ready"), Event(1, "ready"), Event(1, "gone", detail="x"), Event(0, "gone", detail="y")],
        shares_fate=True,
    )
    states.lose_without_result({0: "no end"})
    assert losses(states) == [(1, "dead", "x")]
    assert states.is_over


def test_ranks_that_did_not_load_are_lost_before_those_that_wait_for_them() -> None:
    reasons: dict[str, list[Event]] = {
        "no sign of it within 5 s": [],
        "its framework did not load within 5 s": [Event(1, "alive")],
        "it did not join the group within 5 s": [Event(0, "loaded"), Event(1, "loaded")],
    }
    for why, events in reasons.items():
        states = after([*events, Event(0, "ready")])
        states.lose_unready(5.0)
        assert losses(states) == [(1, "not started", why)]
    states = after([Event(0, "loaded"), Event(1, "alive")])
    states.lose_unready(5.0)
    assert sorted(states.lost) == [1]


def test_a_rank_that_was_ready_stays_ready() -> None:
    """Or ranks with alternating states would delay the start for ever."""
    states = after([Event(1, "ready"), Event(1, "loaded")])
    assert (states.unready(), states.phases()) == ([0], ["started", "ready"])
