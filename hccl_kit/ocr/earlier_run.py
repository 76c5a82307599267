"""What an earlier run has left in the folder of this one.

A new run moves the checkpoints that lie there aside, as the first thing that it does: were it started again after it
had failed early, it would else go on from another run's checkpoint, which is where that one ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.errors import KitError
from hccl_kit.worker_env import RESTART

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.worker_env import WorkerEnv

RESUME, PREVIOUS, OLD = "train_resume.ckpt", "train_resume.prev.ckpt", "train_resume.old.ckpt"
"""The last one written, the one before it, and what an earlier run in the same folder has left."""
KEPT = "ckpt_kept.json"
"""The index of `hccl_kit.ocr.keep`."""


def restarts(environ: Mapping[str, str]) -> int:
    """How often the group was started again, 0 for the first time; KitError where the variable is no number."""
    value = environ.get(RESTART) or "0"
    if not (value.isascii() and value.isdecimal() and len(value) <= 9):
        raise KitError(f"{RESTART}={value!r} is not a number from 0 on", hint=f"unset {RESTART}")
    return int(value)


def wanted_start(config: Config) -> Path | bool:
    """What `system.resume` comes to: True: the checkpoints in the run's folder; False: none; or a file.

    `auto` is True where the folder has a checkpoint.
    """
    wanted = config["system"]["resume"]
    if wanted == "auto":
        return any(path.exists() for path in own_checkpoints(config))
    return wanted if isinstance(wanted, bool) else Path(wanted)


def own_checkpoints(config: Config) -> list[Path]:
    """Where a run keeps what it goes on from, the latest first."""
    folder = Path(config["train"]["ckpt_save_dir"])
    return [folder / RESUME, folder / PREVIOUS]


def make_room(config: Config, env: WorkerEnv, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Rank 0 of a run that does not go on from the checkpoints in its folder moves them aside; the last stays as OLD.

    Returns what is to be said of it.
    """
    own, wanted = own_checkpoints(config), wanted_start(config)
    if env.rank or restarts(environ) or wanted is True or wanted in own:
        return ()
    folder = own[0].parent
    left = [path for path in reversed(own) if path.exists()]
    try:
        (folder / KEPT).unlink(missing_ok=True)  # the weights that it names stay, as nobody's
        for path in left:
            path.replace(folder / OLD)
    except OSError as error:
        raise KitError(f"cannot move {error.filename} aside: {error.strerror}") from error
    return (f"{folder / RESUME} of an earlier run is now {OLD}",) if left else ()
