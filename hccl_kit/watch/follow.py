"""The states of a job, one after the other, until it is over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Protocol

from hccl_kit.base.errors import KitError
from hccl_kit.watch.view import Job, unseen


class Source(Protocol):
    """Where the state of a job is read."""

    def look(self) -> Job:
        """What the job does now. Raises KitError if that cannot be seen."""
        ...


def states(source: Source, interval: float) -> Iterator[Job]:
    """What a job does every `interval` seconds, until it is over.

    Raises KitError only if the first look fails: later, as while a server reboots, the ranks are silent since the last.
    """
    found = seen = source.look()
    since = time.monotonic()
    yield found
    while not found.is_over:
        time.sleep(interval)
        try:
            found = seen = source.look()
            since = time.monotonic()
        except KitError as error:
            found = unseen(seen, time.monotonic() - since, str(error))
        yield found
