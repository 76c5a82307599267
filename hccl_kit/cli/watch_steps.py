"""The steps of hccl-kit watch: read the state of the job repeatedly, show it, write and serve the page."""

from __future__ import annotations

import gc
import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.cli import complain
from hccl_kit.watch.view import Job, problems, unseen


class Source(Protocol):
    """Where the state of a job is read."""

    def look(self) -> Job:
        """What the job does now."""
        ...


def follow(source: Source, interval: float, *, html: Path | None, port: int | None) -> Job:
    """Show a job until it is over; returns its last state. With a `port`, the page is served until Ctrl-C."""
    gc.enable()  # this may go on for weeks
    with ExitStack() as stack:
        found = seen = source.look()  # raises before a screen is opened
        since, latest = time.monotonic(), [found]
        if port is not None:
            _serve(stack, port, latest, interval)
        show = stack.enter_context(_shown(is_served=port is not None))
        while True:
            show(found)
            write_page(html, found)
            if found.is_over and port is None:
                break
            time.sleep(interval)
            try:
                found = seen = source.look()
                since = time.monotonic()
            except KitError as error:  # as while a server reboots
                found = unseen(seen, time.monotonic() - since, str(error))
            latest[0] = found
    return found


def _serve(stack: ExitStack, port: int, latest: list[Job], interval: float) -> None:
    from hccl_kit.watch.html import as_html  # noqa: PLC0415 - only with --serve
    from hccl_kit.watch.server import serving  # noqa: PLC0415

    refresh = max(1, math.ceil(interval))
    address = stack.enter_context(serving(lambda: as_html(latest[0], refresh=refresh), port))
    print(f"serving {address}", flush=True)


@contextmanager
def _shown(*, is_served: bool) -> Iterator[Callable[[Job], None]]:
    """Yields a function that shows a job: in place on a terminal, otherwise as a line for each read."""
    if not sys.stdout.isatty() or is_served:
        lines = _Lines()
        yield lines.show
    elif find_spec("rich"):
        from hccl_kit.watch.screen import screen  # noqa: PLC0415 - optional

        with screen() as show:
            yield show
    else:
        complain("note: pip install 'hccl-kit[watch]' shows this as a table that is refreshed in place")
        lines = _Lines()
        yield lines.show


class _Lines:
    """Prints a line for each read, and one for each new problem or note."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.notes: tuple[str, ...] = ()

    def show(self, job: Job) -> None:
        from hccl_kit.watch.text import as_line  # noqa: PLC0415

        clock = time.strftime("%T", time.localtime(job.time))
        print(f"{clock} {as_line(job)}", flush=True)
        kinds = {re.split(" since | for |:", one)[0]: one for one in problems(job)}  # the rest changes all the time
        for kind, one in kinds.items():
            if kind not in self.known:
                print(f"{clock} problem: {one}", flush=True)
        self.known = set(kinds)
        for note in job.notes:
            if note not in self.notes:
                print(f"{clock} note: {note}", flush=True)
        self.notes = job.notes


def write_page(path: Path | None, job: Job) -> None:
    """Write the page of a job, if there is a path for it."""
    if path is not None:
        from hccl_kit.watch.html import as_html  # noqa: PLC0415 - only with --html

        write_atomically(path, as_html(job))
