"""Where a run goes on: rank 0 reads the file, every rank goes on from it, and the file before it is kept.

A run goes on where the configuration says so (`system.resume`), and where a script of ours has started the group again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mindspore import Parameter

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.checkpoints import checkpoint
from hccl_kit.ocr.checkpoints.checkpoint import DamagedError, Progress
from hccl_kit.ocr.checkpoints.previous_run import PREVIOUS, RESUME, own_checkpoints, wanted_start
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.train import parameters
from hccl_kit.runtime import JointError, World
from hccl_kit.runtime.worker_env import RESTART


@dataclass(frozen=True, slots=True)
class Start:
    """Where a run begins: with the `progress` of the file `path`, or at step 0. `notes` are to be said."""

    progress: Progress
    path: Path | None = None
    notes: tuple[str, ...] = ()


def job_of(config: Config, size: int) -> str:
    """What is trained, as one digest: the configuration and the number of ranks, on which the samples' order hangs."""
    return hashlib.sha256(f"{config.digest} {size}".encode()).hexdigest()


def save(folder: Path, state: Iterable[Parameter], progress: Progress) -> None:
    """Write what a resumed run needs; what was written last is kept beside it."""
    checkpoint.save(folder / RESUME, state, progress, previous=folder / PREVIOUS)


def begin(config: Config, world: World, state: list[Parameter], *, restart: int) -> Start:
    """Where this run begins; `state` is set to it on all ranks, bit by bit. Every rank must call it.

    JointError where `system.resume` names what cannot be resumed, and where the group was started again
    with another configuration or number of ranks.
    """
    said: dict[str, Any] = {}
    if world.is_main:
        said = _tell(lambda: _begin(config, state, job_of(config, world.size), restart))
    said = json.loads(world.share(json.dumps(said)))
    if "error" in said:
        raise JointError(said["error"], hint=said["hint"])
    start = Start(Progress(*said["progress"]), Path(said["path"]) if said["path"] else None, tuple(said["notes"]))
    if start.path is not None:
        parameters.broadcast(state, world)
    return start


def _tell(find: Callable[[], Start]) -> dict[str, Any]:
    """What rank 0 has found, or why it failed, in a form that the others can be told: they must not wait for it."""
    try:
        start = find()
    except KitError as error:
        return {"error": error.message, "hint": error.hint}
    progress = start.progress
    return {
        "progress": [progress.step, progress.best, progress.job],
        "path": str(start.path) if start.path else None,
        "notes": start.notes,
    }


def _begin(config: Config, state: list[Parameter], job: str, restart: int) -> Start:
    own, wanted = own_checkpoints(config), wanted_start(config)
    if restart:
        start = _last_good(own, state)
        if start.path is not None and start.progress.job == job:
            return start
        if start.path is not None and not wanted:
            raise _other_job(start.path)
        if not wanted:
            return Start(Progress(), notes=(*start.notes, "there is no checkpoint to go on from: the run begins anew"))
    if not wanted:
        return Start(Progress())
    files = own if wanted is True else [Path(wanted)]
    start = _last_good(files, state)
    if start.path is None:
        checkpoint.load(files[0], state)  # raises, and says why
    return start


def _last_good(paths: list[Path], state: list[Parameter]) -> Start:
    """The first of `paths` that is whole, loaded into `state`; a path of None where none is."""
    notes: tuple[str, ...] = ()
    for path in filter(Path.exists, paths):
        try:
            return Start(checkpoint.load(path, state), path, notes)
        except DamagedError as error:
            notes = (*notes, f"warning: {error.message}")
    return Start(Progress(), None, notes)


def _other_job(path: Path) -> KitError:
    return KitError(
        f"{path} was written with another configuration or number of ranks than this restart has",
        hint=f"start the ranks as they were started first; without {RESTART}, -o system.resume=True goes on all the "
        "same; where the file is of an earlier run, remove it",
    )
