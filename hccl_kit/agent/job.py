"""A job as a state machine: what happens goes in as events, what is to be done comes out as actions.

          start                    a rank fails, a signal
    (*) -------> RUNNING ------------------------------------> ENDING ---- nothing left ----> OVER
                  ^   |  no progress               2 s            ^               |
                  |   +----------------> STACKS ------------------+               | restarts left
                  |                                                               v
                  +------------------------- after a pause ------------------- PAUSING <---- UNDECIDED

With `asks`, a job is UNDECIDED before it pauses: the caller ends it, or calls `restart`. Independent of processes and
clocks: the caller passes the time in seconds of a clock that only moves forward.
"""

from __future__ import annotations

import signal
from enum import Enum
from typing import NamedTuple, Union

GRACE = 0.8
"""Seconds from one signal to the next, the last of which is SIGKILL, unless the caller has another number."""
STACKS = 2.0
"""Seconds in which ranks write the stacks of their threads before they are ended."""
HUNG = 124
"""The exit code of a job without progress, as of timeout(1)."""
CANNOT_START = 2
"""The exit code of a job that could not start, or of such a rank: it would not start the second time either."""
LONGEST_PAUSE = 30
NEVER = float("inf")


class State(Enum):
    """What the job does."""

    RUNNING = "running"
    STACKS = "writing stacks"
    ENDING = "ending"
    UNDECIDED = "failed, and may be started again"
    PAUSING = "pausing before a restart"
    OVER = "over"


# What happens.
class Exited(NamedTuple):
    """A rank has ended with an exit code, or with 128 + the number of a signal."""

    rank: int
    code: int


class Hung(NamedTuple):
    """These ranks have taken no step for too long after `step`; the first one stands for them."""

    ranks: tuple[int, ...]
    step: int


class Lost(NamedTuple):
    """A server does not answer, or cannot start its ranks: `text` says it to the user, `note` to the diagnosis."""

    text: str
    note: str


class Signalled(NamedTuple):
    """The user has sent a signal to the agent."""

    number: int


class Gone(NamedTuple):
    """No process of the ranks is left.

    `step` is the furthest that a rank has counted, None if none counts. `first` is the rank that failed first by what
    the ranks have written, if they have; its code is 0 if it did not end by itself. `age` are the seconds since then.
    """

    step: int | None
    first: Exited | None = None
    age: float = 0.0


class Due(NamedTuple):
    """The time is at the deadline, or after it."""


# What is to be done.
class Start(NamedTuple):
    """Start all ranks; this is start `attempt`, from 0, with rank 0 at `port`; None: a free one."""

    attempt: int
    port: int | None = None


class Send(NamedTuple):
    """Send a signal to every process of the ranks; with `to_leaders` only to the ranks themselves."""

    number: int
    to_leaders: bool = False


class Clear(NamedTuple):
    """End whatever the ranks have started, then report Gone."""


class Tell(NamedTuple):
    """Report why the job ends, or what it does next; see `report`."""

    what: str
    cause: Cause | None = None
    number: int = 0
    step: int | None = None
    last_step: int | None = None


# Python 3.8 has no | between classes.
Event = Union[Exited, Hung, Lost, Signalled, Gone, Due]  # noqa: UP007
Cause = Union[Exited, Hung, Lost, Signalled]  # noqa: UP007
Action = Union[Start, Send, Clear, Tell]  # noqa: UP007


class Job(NamedTuple):
    """The state, the ranks that run, and why the job ends: the first cause; a signal of the user counts more.

    `left` are the signals that are still to be sent, `deadline` is the time of the next Due. `last_step` is the
    furthest step before the last restart. `code` is the exit code of the job when it is over or UNDECIDED. `grace` is
    the time in seconds from one signal to the next. `asks`: the caller decides about each restart.
    """

    ranks: frozenset[int]
    max_restarts: int = 0
    state: State = State.RUNNING
    attempt: int = 0
    running: frozenset[int] = frozenset()
    cause: Cause | None = None
    left: tuple[int, ...] = ()
    deadline: float = NEVER
    last_step: int | None = None
    code: int = 0
    grace: float = GRACE
    asks: bool = False


def begin(
    ranks: frozenset[int], max_restarts: int = 0, attempt: int = 0, *, grace: float = GRACE, asks: bool = False
) -> tuple[Job, tuple[Action, ...]]:
    """A job whose ranks are to be started, after `attempt` starts on other servers, which are no restarts."""
    job = Job(ranks, max_restarts + attempt, attempt=attempt, running=ranks, grace=grace, asks=asks)
    return job, (Start(attempt),)


def restart(job: Job, now: float) -> tuple[Job, tuple[Action, ...]]:
    """A job that has failed, and pauses before its ranks are started again."""
    pause = min(2**job.attempt, LONGEST_PAUSE)
    waits = job._replace(state=State.PAUSING, deadline=now + pause)
    return waits, (Tell("restart", number=job.attempt + 1, step=pause),)


def after(job: Job, event: Event, now: float) -> tuple[Job, tuple[Action, ...]]:
    """The job after an event, and what is to be done now."""
    if job.state is State.OVER:
        return job, ()
    if isinstance(event, Exited):
        follows = _after_exit(job, event, now)
    elif isinstance(event, Lost):
        follows = _after_loss(job, event, now)
    elif isinstance(event, Signalled):
        follows = _after_signal(job, event, now)
    elif isinstance(event, Hung):
        follows = _after_hang(job, event, now)
    elif isinstance(event, Gone):
        follows = _after_the_end(job, event, now)
    else:
        follows = _when_due(job, now)
    return follows


def exit_code(cause: Cause | None) -> int:
    """The exit code of a job that ends for this reason; 0 for none."""
    if isinstance(cause, Exited):
        return cause.code
    if isinstance(cause, Signalled):
        return 128 + cause.number
    if isinstance(cause, Lost):
        return CANNOT_START
    return HUNG if cause else 0


def _after_exit(job: Job, event: Exited, now: float) -> tuple[Job, tuple[Action, ...]]:
    if event.rank not in job.running:
        return job, ()
    job = job._replace(running=job.running - {event.rank})
    if job.state is State.RUNNING and event.code != 0:
        return _end(job._replace(cause=event), now, (signal.SIGTERM, signal.SIGKILL))
    if job.running:
        return job, ()
    # All ranks have ended, so that what is left is what they have started.
    return job._replace(state=State.ENDING, left=(), deadline=NEVER), (Clear(),)


def _after_loss(job: Job, event: Lost, now: float) -> tuple[Job, tuple[Action, ...]]:
    if job.state is State.PAUSING:
        return job._replace(state=State.OVER, cause=event, code=exit_code(event)), (Tell("failure", event),)
    if job.state is State.ENDING:
        return job, ()
    # Nobody can say whether the ranks there end.
    return _end(job._replace(cause=event, running=frozenset()), now, (signal.SIGTERM, signal.SIGKILL))


def _after_signal(job: Job, event: Signalled, now: float) -> tuple[Job, tuple[Action, ...]]:
    if job.state is State.PAUSING:
        return job._replace(state=State.OVER, cause=event, code=exit_code(event)), (Tell("signal", event),)
    if isinstance(job.cause, Signalled):  # the user is in a hurry
        return _end(job, now, (signal.SIGKILL,))
    job = job._replace(cause=event)
    if job.state is State.ENDING and not job.running:
        return job, ()
    first = () if event.number == signal.SIGTERM else (event.number,)
    return _end(job, now, (*first, signal.SIGTERM, signal.SIGKILL))


def _after_hang(job: Job, event: Hung, now: float) -> tuple[Job, tuple[Action, ...]]:
    if job.state is not State.RUNNING:
        return job, ()
    waits = job._replace(state=State.STACKS, cause=event, deadline=now + STACKS)
    return waits, (Send(signal.SIGUSR1, to_leaders=True),)


def _end(job: Job, now: float, signals: tuple[int, ...]) -> tuple[Job, tuple[Action, ...]]:
    """Send the first signal, the others when they are due."""
    if not job.running:
        return job._replace(state=State.ENDING, left=(), deadline=NEVER), (Clear(),)
    number, *left = signals
    ending = job._replace(state=State.ENDING, left=tuple(left), deadline=now + job.grace)
    return ending, (Send(number),)


def _when_due(job: Job, now: float) -> tuple[Job, tuple[Action, ...]]:
    if now < job.deadline:
        return job, ()
    if job.state is State.STACKS:
        return _end(job, now, (signal.SIGTERM, signal.SIGKILL))
    if job.state is State.PAUSING:
        attempt = job.attempt + 1
        started = job._replace(state=State.RUNNING, attempt=attempt, running=job.ranks, cause=None, deadline=NEVER)
        return started, (Start(attempt),)
    if job.state is State.ENDING and job.left:
        return _end(job, now, job.left)
    # A process that survives SIGKILL hangs in a driver: it is named, and not waited for.
    return job._replace(running=frozenset(), deadline=NEVER), (Tell("unkillable"), Clear())


def _first(cause: Cause | None, written: Exited | None) -> Cause | None:
    """A rank that fails first may exit later than another; if it was ended by us, its exit code does not count."""
    if written is None or not isinstance(cause, Exited) or cause.code > 128:
        return cause
    return Exited(written.rank, written.code if 0 < written.code <= 128 else cause.code)


def _after_the_end(job: Job, event: Gone, now: float) -> tuple[Job, tuple[Action, ...]]:
    if job.state is not State.ENDING:
        return job, ()
    cause = _first(job.cause, event.first)
    over = job._replace(state=State.OVER, deadline=NEVER, code=exit_code(cause))
    if cause is None:
        return over, ()
    if isinstance(cause, Signalled):
        return over, (Tell("signal", cause),)
    failure = Tell("failure", cause)
    if job.attempt >= job.max_restarts or over.code == CANNOT_START:
        return over, (failure,)
    if job.last_step is not None and (event.step or 0) <= job.last_step:
        return over, (failure, Tell("no progress", number=job.attempt, step=event.step or 0, last_step=job.last_step))
    failed = over._replace(state=State.UNDECIDED, cause=cause, last_step=event.step)
    waits, actions = (failed, ()) if job.asks else restart(failed, now)
    return waits, (failure, *actions)
