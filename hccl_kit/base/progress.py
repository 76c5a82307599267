"""Progress of long work on stderr: a bar on a terminal, otherwise a line of text every INTERVAL seconds.

    with track(paths, len(paths), "reading tables") as tracked:
        for path in tracked: ...

A command that ends within DELAY shows nothing. The bar disappears when the block ends, so an error after it starts on a
line of its own. tqdm draws the bar; it is imported only when a bar is shown, so quick commands and logs do not load it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any, TextIO, TypeVar

from hccl_kit.base.errors import KitError
from hccl_kit.base.terminal import clean
from hccl_kit.base.wording import system_reason

DELAY = 0.5
"""Seconds after the start of the program before a bar appears."""
INTERVAL = 30.0
"""Seconds between two lines where stderr is not a terminal."""
SURE = 0.1
"""The share of all items from which on the time that is left is estimated: servers that are asked at once answer late.
"""
_START = time.monotonic()
T = TypeVar("T")


@contextmanager
def track(items: Iterable[T], total: int, what: str, *, quiet: bool = False) -> Iterator[Iterator[T]]:
    """The same items, counted on stderr as they are taken; `what` names the work, such as "reading tables".

    `quiet` shows nothing; nor does a process whose stderr is closed.
    """
    if quiet or sys.stderr is None:
        yield iter(items)
        return
    with closing((_with_bar if sys.stderr.isatty() else _with_lines)(items, total, what)) as tracked:
        yield tracked


@contextmanager
def show_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yields a function of (done, total), in any unit, that shows the progress on stderr as `track` does."""
    shown: Any = None
    last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal shown, last
        if sys.stderr is None or time.monotonic() - _START < DELAY:
            return
        if not sys.stderr.isatty():
            if time.monotonic() - last >= INTERVAL:
                last = time.monotonic()
                say(f"{what}: {100 * done // max(total, 1)} %")
            return
        if shown is None:
            shown = _bar(done, total, what)
        shown.total = total
        shown.update(done - shown.n)

    try:
        yield show
    finally:
        if shown is not None:
            shown.close()


def say(text: str, file: TextIO | None = None) -> None:
    """Print a line to stderr or to `file`, above the bar if one is shown, without control characters.

    Raises KitError if it is standard output and cannot be written, BrokenPipeError if its reader has ended.
    """
    file = file or sys.stderr
    if file is None:
        return
    tqdm = sys.modules.get("tqdm.std")
    write: Callable[..., None] = print if tqdm is None else tqdm.tqdm.write
    with _named(file):
        write(clean(text), file=file)
        file.flush()


def flush(file: TextIO) -> None:
    """Write what a program has printed so far. Raises as `say`."""
    with _named(file):
        file.flush()


@contextmanager
def _named(file: TextIO) -> Iterator[None]:
    """Raises KitError that names standard output if writing to it fails: Python's OSError names no file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if file is not sys.stdout:
            raise
        raise KitError("base.standard-output", "standard output: {reason}", reason=system_reason(error)) from error


def line_break() -> str:
    """The prefix of a message that is not written by `say`: a line break if a bar may be shown, otherwise nothing."""
    return "\n" if "tqdm.std" in sys.modules and sys.stderr is not None and sys.stderr.isatty() else ""


def _with_bar(items: Iterable[T], total: int, what: str) -> Generator[T, None, None]:
    bar: Any = None
    try:
        for done, item in enumerate(items):
            if bar is None and time.monotonic() - _START >= DELAY:
                bar = _bar(done, total, what)
            yield item
            if bar is not None:
                bar.update()
    finally:
        if bar is not None:
            bar.close()


def _bar(done: int, total: int, what: str) -> Any:
    from tqdm.std import tqdm

    tqdm.monitor_interval = 0  # no thread of its own
    tqdm.set_lock(threading.RLock())  # no semaphore shared with other processes
    return tqdm(total=total, initial=done, desc=what, leave=False, file=sys.stderr, dynamic_ncols=True)


def _with_lines(items: Iterable[T], total: int, what: str) -> Generator[T, None, None]:
    started = last = time.monotonic()
    for done, item in enumerate(items):
        now = time.monotonic()
        if done and now - last >= INTERVAL:
            last = now
            left = (now - started) / done * (total - done)
            estimate = f", about {left:.0f} s left" if done >= total * SURE else ""
            say(f"{what}: {done} of {total}{estimate}")
        yield item
