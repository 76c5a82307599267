"""Work in threads that Ctrl-C ends for certain: the main thread only waits for it.

Python raises KeyboardInterrupt between any two instructions of the main thread: inside the lock of a thread pool, or
when a process is started and not yet known. And a main thread that waits for a lock without a time limit may miss it:
a signal that comes while other threads contend for the interpreter, after the decision to wait, does not end the wait.
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
"""Seconds between two looks at whether Ctrl-C came."""
_T = TypeVar("_T")
_seen: list[int] = []  # not an Event: a second signal within its lock would wait for that lock


def is_interrupted() -> bool:
    """Whether Ctrl-C came during `interruptible`. Its threads then start nothing more and end what runs."""
    return bool(_seen)


def interruptible(work: Callable[[], _T]) -> _T:
    """The result of `work`, which runs in another thread; in the main thread only, others get no signals.

    After Ctrl-C, `is_interrupted` is true, and KeyboardInterrupt is raised when `work` has ended. A second Ctrl-C does
    not wait for it. A program that ignores SIGINT goes on.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
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
            signal.signal(signal.SIGINT, before)
            signal.raise_signal(signal.SIGINT)

    _seen.clear()
    signal.signal(signal.SIGINT, note)
    try:
        threading.Thread(target=run, daemon=True).start()
        while not (results or errors):
            with suppress(Empty):
                ended.get(timeout=POLL)  # a signal is certain to be seen because this has a limit
    finally:
        signal.signal(signal.SIGINT, before)
        came = is_interrupted()
        if results or errors:
            _seen.clear()
    if came:
        signal.raise_signal(signal.SIGINT)
        raise KeyboardInterrupt  # another handler, which does not raise, was called
    if errors:
        raise errors[0]
    return results[0]
