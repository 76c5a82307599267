"""The states of a job, one after the other, until it is over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Protocol

from hccl_kit.base.errors import KitError
from hccl_kit.watch.view import WatchedJob, unseen


class Source(Protocol):
    """Where the state of a job is read."""

    def look(self) -> WatchedJob:
        """What the job does now. Raises KitError if that cannot be seen."""
        ...


def states(source: Source, interval: float) -> Iterator[WatchedJob]:
    """What a job does every `interval` seconds, until it is over.

    Raises KitError only if the first look fails: later, as while a server reboots, the ranks are silent since the last.
    """
    job = seen = source.look()
    since = time.monotonic()
    yield job
    while not job.is_over:
        time.sleep(interval)
        try:
            job = seen = source.look()
            since = time.monotonic()
        except KitError as error:
            job = unseen(seen, time.monotonic() - since, error.message)
        yield job
