"""The states of a job: read from the folder of a run, once or one after the other until the job is over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.watch import run_folder, training_folder
from hccl_kit.watch.view import WatchedJob, chosen, job, unseen


class Folder:
    """The folder of a run on this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ages: run_folder.Ages | None = None
        self._restarts = -1

    def look(self) -> WatchedJob:
        """What the job does now. Raises KitError if the folder has no files of a run."""
        now, monotonic = time.time(), time.monotonic()
        attempt = run_folder.attempt(self.path)
        if not any(attempt.files.values()) and not attempt.statuses:
            if training_folder.is_training(self.path):
                return training_folder.read(self.path, now)._replace(run=printable(str(self.path)))
            raise KitError(
                "watch.no-run",
                "{folder} has no files of a run",
                fix="name the log folder of a run (hccl_logs/latest), or the folder of a training",
                folder=attempt.folder,
            )
        if self._ages is None or attempt.restarts != self._restarts:  # a restart begins with new files
            self._ages, self._restarts = run_folder.Ages(now, monotonic), attempt.restarts
        self._ages.look(now, monotonic)
        ranks, size = run_folder.ranks_of(attempt, self._ages)
        middle = sorted(ranks, key=lambda rank: rank.own_s)[len(ranks) // 2 :][:1]  # the others, to compare with
        details = {rank.rank: run_folder.with_details(attempt, rank) for rank in {*chosen(ranks), *middle}}
        left_out = len(attempt.files["facts"]) - run_folder.MAX_RANKS
        notes = []
        if left_out > 0:
            notes.append(Message("watch.many-ranks", "{number} ranks are not read", number=left_out))
        if not ranks:
            notes.append(Message("watch.no-rank", "no rank can be read yet"))
        shown = printable(str(self.path))
        every = [details.get(rank.rank, rank) for rank in ranks]
        return job(shown, now, every, size=size, restarts=attempt.restarts, notes=notes)


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
