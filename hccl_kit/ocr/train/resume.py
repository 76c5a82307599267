"""Resuming a run: rank 0 reads the checkpoint, every rank continues from it, and the previous checkpoint is kept.

A run resumes if the configuration says so (`system.resume`), or if a generated script has restarted the group.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mindspore import Parameter

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.checkpoints import checkpoint, dictionary_mark, retention
from hccl_kit.ocr.checkpoints.checkpoint import DamagedError, Progress
from hccl_kit.ocr.checkpoints.previous_run import PREVIOUS, RESUME, own_checkpoints, wanted_start
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.run.consistency import answer_of_first_rank
from hccl_kit.ocr.train import parameters
from hccl_kit.runtime.join import World
from hccl_kit.runtime.worker_env import RESTART

Load = Callable[[Path], Progress]
"""Sets the state of a run from a checkpoint."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where a run begins: at the `progress` of the file `path`, or at step 0. `notes` go to the log."""

    progress: Progress
    path: Path | None = None
    notes: tuple[str, ...] = ()


def job_of(config: Config, size: int) -> str:
    """A digest of the configuration and the number of ranks: both decide the order of the samples."""
    return hashlib.sha256(f"{config.digest} {size}".encode()).hexdigest()


def save(folder: Path, state: Iterable[Parameter], progress: Progress) -> None:
    """Write a checkpoint to resume from; the previous one is kept."""
    checkpoint.save(folder / RESUME, state, progress, previous=folder / PREVIOUS)


def begin(config: Config, world: World, state: list[Parameter], *, restart: int, dictionary: str = "") -> Start:
    """Where this run begins; `state` is set to it on all ranks, bit by bit. Every rank must call it.

    Raises JointError if the checkpoint of `system.resume` cannot be resumed from, is of another `dictionary`, or the
    group was restarted with another configuration or number of ranks.
    """

    def find() -> dict[str, Any]:
        start = _begin(config, partial(_load, state, dictionary), job_of(config, world.size), restart)
        if start.path is not None:
            retention.read(own_checkpoints(config)[0].parent)  # a damaged index would end the run later
        return {"progress": astuple(start.progress), "path": start.path and str(start.path), "notes": start.notes}

    answer = answer_of_first_rank(world, find)
    path = Path(answer["path"]) if answer["path"] else None
    if path is not None:
        parameters.broadcast(state, world)
    return Start(Progress(*answer["progress"]), path, tuple(answer["notes"]))


def _load(state: list[Parameter], dictionary: str, path: Path) -> Progress:
    """Set `state` from a checkpoint, which must have this digest of a dictionary; empty if the network has none."""

    def check(rows: Mapping[str, Parameter]) -> None:
        if dictionary_mark.differs(rows, dictionary):
            raise dictionary_mark.other(path)

    return checkpoint.load(path, state, check=check)


def _begin(config: Config, load: Load, job: str, restart: int) -> Start:
    checkpoints, wanted = own_checkpoints(config), wanted_start(config)
    if restart:
        start = _last_good(checkpoints, load)
        if start.path is not None and start.progress.job == job:
            return start
        if start.path is not None and not wanted:
            raise _other_job(start.path)
        if not wanted:
            return Start(Progress(), notes=(*start.notes, "no checkpoint to resume from: starting at step 0"))
    if not wanted:
        return Start(Progress())
    files = checkpoints if wanted is True else [Path(wanted)]
    start = _last_good(files, load)
    if start.path is None:
        load(files[0])  # raises the error
    return start


def _last_good(paths: list[Path], load: Load) -> Start:
    """The first of `paths` that is complete, loaded; path is None if there is none."""
    notes: tuple[str, ...] = ()
    for path in filter(Path.exists, paths):
        try:
            return Start(load(path), path, notes)
        except DamagedError as error:
            notes = (*notes, f"warning: {error.message}")
    return Start(Progress(), None, notes)


def _other_job(path: Path) -> KitError:
    return KitError(
        "ocr.resume.was-written-another",
        "{path} was written with another configuration or number of ranks than this restart has",
        fix="restart with the same command; without {restart}, -o system.resume=True resumes in any "
        "case; if the file is of an earlier run, remove it",
        path=path,
        restart=RESTART,
    )
