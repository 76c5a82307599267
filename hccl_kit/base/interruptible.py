"""Work in threads that Ctrl-C and other signals reliably end: the main thread only waits for it.

Python raises KeyboardInterrupt between any two instructions of the main thread: inside the lock of a thread pool, or
when a process is started and not yet known. SIGTERM, SIGHUP and SIGQUIT end a program at once, and what it started
lives on. And a main thread that waits for a lock without a time limit may miss a signal: one that comes while other
threads contend for the interpreter, after the decision to wait, does not end the wait.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import TypeVar

POLL = 0.2
"""Seconds between two checks for a signal."""
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The signals that end the work."""
_LEFT_ALONE = (signal.SIG_IGN, None)
_T = TypeVar("_T")
_seen: list[int] = []  # not an Event: a second signal within its lock would wait for that lock


def is_interrupted() -> bool:
    """Whether a signal arrived during `interruptible`. The threads then start nothing more and end what runs."""
    return bool(_seen)


def interruptible(work: Callable[[], _T]) -> _T:
    """The result of `work`, run in another thread if this is the main thread: only that one gets signals.

    After a signal, `is_interrupted` is true, and the program ends as that signal ends it when `work` has ended: Ctrl-C
    raises KeyboardInterrupt. A second signal does not wait for it. Signals that the program ignores stay ignored.
    """
    before = {number: handler for number in ENDING if (handler := signal.getsignal(number)) not in _LEFT_ALONE}
    if threading.current_thread() is not threading.main_thread() or not before:
        return work()
    results: list[_T] = []
    errors: list[BaseException] = []
    ended: SimpleQueue[None] = SimpleQueue()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        ended.put(None)

    def note(number: int, _frame: FrameType | None) -> None:
        _seen.append(number)
        if len(_seen) > 1:
            restore()
            signal.raise_signal(number)

    def restore() -> None:
        for number in reversed(before):  # the last is SIGINT, which raises from then on
            signal.signal(number, before[number])

    _seen.clear()
    try:
        for number in before:
            signal.signal(number, note)
        threading.Thread(target=run, daemon=True).start()
        while not (results or errors):
            with suppress(Empty):
                ended.get(timeout=POLL)  # without a timeout, a signal may be missed
    finally:
        restore()
        came = tuple(_seen)
        if results or errors:
            _seen.clear()
    if came:
        signal.raise_signal(came[0])
        raise KeyboardInterrupt  # another handler, which does not raise, was called
    if errors:
        raise errors[0]
    return results[0]
