"""Resuming a run: rank 0 reads the checkpoint, every rank continues from it, and the previous checkpoint is kept.

A run resumes if the configuration says so (`system.resume`), or if a generated script has restarted the group.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mindspore import Parameter

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.checkpoints import checkpoint, dictionary_mark, retention
from hccl_kit.ocr.checkpoints.checkpoint import DamagedError, Progress
from hccl_kit.ocr.checkpoints.previous_run import PREVIOUS, RESUME, own_checkpoints, wanted_start
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.train import parameters
from hccl_kit.runtime.consistency import JointError
from hccl_kit.runtime.join import World
from hccl_kit.runtime.worker_env import RESTART


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
    answer: dict[str, Any] = {}
    if world.is_main:
        own_job = job_of(config, world.size)
        answer = _as_json(lambda: _begin(config, _State(state, dictionary), own_job, restart), config)
    answer = json.loads(world.share(json.dumps(answer)))
    if "error" in answer:
        raise JointError(answer["error"], hint=answer["hint"])
    start = Start(
        Progress(*answer["progress"]), Path(answer["path"]) if answer["path"] else None, tuple(answer["notes"])
    )
    if start.path is not None:
        parameters.broadcast(state, world)
    return start


@dataclass(frozen=True, slots=True)
class _State:
    """What a checkpoint sets, and the digest of the dictionary that it must have; empty if the network has none."""

    parameters: list[Parameter]
    dictionary: str

    def load(self, path: Path) -> Progress:
        def check(rows: Mapping[str, Parameter]) -> None:
            if dictionary_mark.differs(rows, self.dictionary):
                raise dictionary_mark.other(path)

        return checkpoint.load(path, self.parameters, check=check)


def _as_json(find: Callable[[], Start], config: Config) -> dict[str, Any]:
    """The start that rank 0 has found or its error, to share with the other ranks, which would wait for it."""
    try:
        start = find()
        if start.path is not None:
            retention.read(
                own_checkpoints(config)[0].parent
            )  # a damaged index would end the run at its first evaluation
    except KitError as error:
        return {"error": error.message, "hint": error.hint}
    progress = start.progress
    return {
        "progress": [progress.step, progress.best, progress.job],
        "path": str(start.path) if start.path else None,
        "notes": start.notes,
    }


def _begin(config: Config, state: _State, job: str, restart: int) -> Start:
    checkpoints, wanted = own_checkpoints(config), wanted_start(config)
    if restart:
        start = _last_good(checkpoints, state)
        if start.path is not None and start.progress.job == job:
            return start
        if start.path is not None and not wanted:
            raise _other_job(start.path)
        if not wanted:
            return Start(Progress(), notes=(*start.notes, "no checkpoint to resume from: starting at step 0"))
    if not wanted:
        return Start(Progress())
    files = checkpoints if wanted is True else [Path(wanted)]
    start = _last_good(files, state)
    if start.path is None:
        state.load(files[0])  # raises the error
    return start


def _last_good(paths: list[Path], state: _State) -> Start:
    """The first of `paths` that is complete, loaded into `state`; path is None if there is none."""
    notes: tuple[str, ...] = ()
    for path in filter(Path.exists, paths):
        try:
            return Start(state.load(path), path, notes)
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
