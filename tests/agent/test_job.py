"""The state machine: what follows from which event, without processes."""

import signal

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.agent.job import (
    GRACE,
    HUNG,
    NEVER,
    STACKS,
    Action,
    Clear,
    Due,
    Event,
    Exited,
    Gone,
    Hung,
    Job,
    Send,
    Signalled,
    Start,
    State,
    Tell,
    after,
    begin,
    restart,
)

INT, TERM, KILL, HUP = signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP


def run(*events: Event, ranks: int = 2, max_restarts: int = 0) -> tuple[Job, list[Action]]:
    """The job after these events, and all actions; time passes only until something is due."""
    job, actions = begin(frozenset(range(ranks)), max_restarts)
    done, now = list(actions), 100.0
    for event in events:
        if isinstance(event, Due):
            assert job.deadline != NEVER
            now = job.deadline
        job, actions = after(job, event, now)
        done += actions
    return job, done


def test_a_job_whose_ranks_succeed_is_over_when_nothing_is_left() -> None:
    job, done = run(Exited(0, 0), Exited(1, 0))
    assert (job.state, done) == (State.ENDING, [Start(0), Clear()])
    job, done = run(Exited(0, 0), Exited(1, 0), Gone(None))
    assert (job.state, job.code, done) == (State.OVER, 0, [Start(0), Clear()])


def test_the_first_rank_that_fails_ends_the_others_and_gives_its_code() -> None:
    job, done = run(Exited(1, 7), Exited(0, 143), Gone(None))
    assert (job.state, job.code) == (State.OVER, 7)
    assert done == [Start(0), Send(TERM), Clear(), Tell("failure", Exited(1, 7))]


def test_a_rank_that_does_not_end_is_killed_and_then_not_waited_for() -> None:
    job, done = run(Exited(1, 7), Due())
    assert job.deadline == 100 + 2 * GRACE
    assert done == [Start(0), Send(TERM), Send(KILL)]
    job, done = run(Exited(1, 7), Due(), Due(), Exited(0, 137), Gone(None))
    assert done[3:] == [Tell("unkillable"), Clear(), Tell("failure", Exited(1, 7))]
    assert job.code == 7


def test_the_time_between_two_signals_is_that_of_the_caller() -> None:
    job, _ = begin(frozenset([0, 1]), grace=10.0)
    assert after(job, Exited(1, 7), 100.0)[0].deadline == 110.0


def test_a_job_without_progress_writes_its_stacks_before_it_ends() -> None:
    job, done = run(Hung((1,), 5))
    assert (job.state, job.deadline) == (State.STACKS, 100 + STACKS)
    assert done == [Start(0), Send(signal.SIGUSR1, to_leaders=True)]
    job, done = run(Hung((1,), 5), Due(), Exited(0, 143), Exited(1, 143), Gone(5))
    assert (job.code, done[-1]) == (HUNG, Tell("failure", Hung((1,), 5)))


def test_a_rank_that_ends_while_stacks_are_written_is_not_the_cause() -> None:
    job, _ = run(Hung((1,), 5), Exited(0, 1), Exited(1, 1), Gone(5))
    assert (job.state, job.code) == (State.OVER, HUNG)


def test_the_signal_of_the_user_reaches_the_ranks_first() -> None:
    _, done = run(Signalled(INT), Due(), Due())
    assert done == [Start(0), Send(INT), Send(TERM), Send(KILL)]
    _, done = run(Signalled(TERM), Due())
    assert done == [Start(0), Send(TERM), Send(KILL)]
    job, done = run(Signalled(HUP), Exited(0, 129), Exited(1, 129), Gone(None))
    assert (job.code, done[-1]) == (129, Tell("signal", Signalled(HUP)))


def test_a_second_signal_kills_at_once() -> None:
    _, done = run(Signalled(INT), Signalled(INT))
    assert done == [Start(0), Send(INT), Send(KILL)]


def test_a_signal_while_a_failed_job_ends_prevents_the_restart() -> None:
    job, done = run(Exited(1, 7), Signalled(TERM), Exited(0, 143), Gone(None), max_restarts=3)
    assert (job.state, job.code, done[-1]) == (State.OVER, 143, Tell("signal", Signalled(TERM)))


FAIL = (Exited(0, 3), Exited(1, 143))


def test_a_failed_job_starts_again_after_a_pause_that_grows() -> None:
    job, done = run(*FAIL, Gone(1), max_restarts=5)
    assert (job.state, job.deadline) == (State.PAUSING, 101)
    assert done[-2:] == [Tell("failure", Exited(0, 3)), Tell("restart", number=1, step=1)]
    job, done = run(*FAIL, Gone(1), Due(), *FAIL, Gone(2), Due(), max_restarts=5)
    assert [action for action in done if isinstance(action, Start)] == [Start(0), Start(1), Start(2)]
    assert (job.state, job.running, job.cause) == (State.RUNNING, frozenset({0, 1}), None)
    assert Tell("restart", number=2, step=2) in done


def test_the_number_of_restarts_is_limited() -> None:
    job, done = run(*FAIL, Gone(None), Due(), *FAIL, Gone(None), max_restarts=1)
    assert (job.state, job.code, done.count(Tell("failure", Exited(0, 3)))) == (State.OVER, 3, 2)


def test_a_job_without_progress_since_its_last_restart_is_given_up() -> None:
    job, done = run(*FAIL, Gone(7), Due(), *FAIL, Gone(7), max_restarts=5)
    assert job.state is State.OVER
    assert done[-1] == Tell("no progress", number=1, step=7, last_step=7)
    job, _ = run(*FAIL, Gone(7), Due(), *FAIL, Gone(None), max_restarts=5)
    assert job.state is State.OVER


def test_a_start_that_fails_with_2_is_not_repeated() -> None:
    job, _ = run(Exited(0, 2), Exited(1, 143), Gone(None), max_restarts=5)
    assert (job.state, job.code) == (State.OVER, 2)


def test_a_job_that_asks_pauses_only_when_its_caller_has_decided() -> None:
    job, _ = begin(frozenset([0]), 1, asks=True)
    failing: tuple[Event, ...] = (Exited(0, 3), Gone(7))
    for event in failing:
        job, actions = after(job, event, 100.0)
    assert (job.state, job.code, actions) == (State.UNDECIDED, 3, (Tell("failure", Exited(0, 3)),))
    job, actions = restart(job, 150.0)
    assert (job.state, job.deadline, actions) == (State.PAUSING, 151.0, (Tell("restart", number=1, step=1),))
    for event in (Due(), *failing[:1], Gone(8)):
        job, actions = after(job, event, 151.0)
    assert (job.state, job.attempt, job.code) == (State.OVER, 1, 3)


def test_a_signal_ends_the_pause() -> None:
    job, done = run(*FAIL, Gone(None), Signalled(INT), max_restarts=5)
    assert (job.state, job.code, done[-1]) == (State.OVER, 130, Tell("signal", Signalled(INT)))


def test_what_the_ranks_have_written_names_the_first_that_failed() -> None:
    job, done = run(*FAIL, Gone(None, Exited(1, 5)))
    assert (job.code, done[-1]) == (5, Tell("failure", Exited(1, 5)))
    job, _ = run(Signalled(INT), Exited(0, 1), Exited(1, 1), Gone(None, Exited(1, 5)))
    assert job.code == 130


EVENTS = st.one_of(
    st.builds(Exited, st.integers(0, 2), st.sampled_from([0, 0, 1, 2, 137])),
    st.builds(Signalled, st.sampled_from([INT, TERM, HUP])),
    st.builds(Hung, st.just((1,)), st.integers(0, 3)),
    st.builds(Gone, st.none() | st.integers(0, 9)),
    st.just(Due()),
)


@given(events=st.lists(EVENTS, max_size=30), restarts=st.integers(0, 3))
def test_whatever_happens_the_job_can_still_end(events: list[Event], restarts: int) -> None:
    """A job that is not over waits for a rank, for the guard or for a deadline; and what follows ends it."""
    job, actions = begin(frozenset(range(3)), restarts)
    now, cleared = 0.0, False
    for event in [*events, *([Due()] * 5), *(Exited(rank, 1) for rank in range(3)), Gone(None)] * (restarts + 2):
        if job.state is State.OVER:
            break
        if isinstance(event, Gone) and not cleared:
            continue  # the guard answers only when it is asked
        now = max(now, job.deadline) if isinstance(event, Due) and job.deadline != NEVER else now
        before = job
        job, actions = after(job, event, now)
        cleared = (cleared or Clear() in actions) and job.attempt == before.attempt
        if job.state is State.ENDING and not job.running:
            assert cleared
        assert job.running or job.deadline != NEVER or job.state in (State.ENDING, State.OVER)
    assert job.state is State.OVER
