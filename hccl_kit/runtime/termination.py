"""Do something before SIGTERM ends the process, even while native code runs.

Python runs the handler of a signal when the main thread is back in Python, which is never while it waits in a
collective. The wake-up descriptor is written at once, so a thread here reads the signal from it. A program that has a
handler or a wake-up descriptor of its own keeps it, and a forked process has the default again.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

EXIT_CODE = 128 + signal.SIGTERM
_watches: list[_Watch] = []


@contextmanager
def before_termination(act: Callable[[], None]) -> Iterator[None]:
    """In the block, SIGTERM calls `act` and then ends the process with exit code 143, as a shell shows the signal."""
    watch = _watch(act)
    try:
        yield
    finally:
        if watch is not None:
            watch.close()


def _watch(act: Callable[[], None]) -> _Watch | None:
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        return None
    before = signal.set_wakeup_fd(-1)
    if before != -1:
        signal.set_wakeup_fd(before)
        return None
    return _Watch(act)


class _Watch:
    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._is_ending = threading.Lock()
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        signal.signal(signal.SIGTERM, self._handle)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        _watches.append(self)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            threading.Thread(target=self._wait, name="termination", daemon=True).start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def close(self) -> None:
        """Restore the default handler, and end the thread."""
        self.forget()
        os.close(self._write)

    def forget(self) -> None:
        """Restore the default handler, unless another one was installed meanwhile."""
        with suppress(ValueError):
            _watches.remove(self)
        if signal.getsignal(signal.SIGTERM) == self._handle:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        before = signal.set_wakeup_fd(-1)
        if before not in (-1, self._write):
            signal.set_wakeup_fd(before)

    def _wait(self) -> None:
        while numbers := os.read(self._read, 64):
            if signal.SIGTERM in numbers and signal.getsignal(signal.SIGTERM) == self._handle:
                self._end()
        os.close(self._read)

    def _handle(self, _number: int, _frame: object) -> None:
        self._end()

    def _end(self) -> None:
        if self._is_ending.acquire(blocking=False):
            try:
                self._act()
            finally:
                os._exit(EXIT_CODE)


def _in_child() -> None:
    """Restore the default handler in a forked process: the parent would read a signal to its child from their pipe."""
    for watch in tuple(_watches):
        watch.forget()


os.register_at_fork(after_in_child=_in_child)
