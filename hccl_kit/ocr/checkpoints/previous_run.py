"""What an earlier run has left in the folder of this one.

A new run moves the results that lie there aside, as the first thing that it does: it would else write worse weights
over better ones, and were it started again after it had failed early, it would go on from another run's checkpoint.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.base.errors import KitError
from hccl_kit.base.integer import parse_integer
from hccl_kit.ocr.config import BEST
from hccl_kit.runtime.worker_env import RESTART

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config
    from hccl_kit.runtime.worker_env import WorkerEnv

RESUME, PREVIOUS = "train_resume.ckpt", "train_resume.prev.ckpt"
"""The last one written, and the one before it."""
KEPT, METRICS, SUMMARY, ARCHIVE = "ckpt_kept.json", "metrics.jsonl", "summary.json", "train_config.yaml"
"""The index of `hccl_kit.ocr.checkpoints.retention`, and files of the whole run."""
_RESULTS = (RESUME, PREVIOUS, BEST, SUMMARY)
"""One of these stands for a run that has come to something."""
_OF_A_RUN = re.compile(
    r"best\.(ckpt|onnx|mindir)|step_[0-9]+\.(ckpt|onnx|mindir)|train_resume(\.prev)?\.ckpt|ckpt_kept\.json"
    r"|train_config\.yaml|summary\.json|metrics\.jsonl|log_[0-9]+\.txt|curves\.png|first_batch\.png|tensorboard"
)
"""What a run writes, and what tools/export.py makes of it. Other files in the folder are not touched."""
MOST = 10_000


def restarts(environ: Mapping[str, str]) -> int:
    """How often the group was started again, 0 for the first time; KitError where the variable is no number."""
    return parse_integer(RESTART, environ.get(RESTART) or "0", hint=f"unset {RESTART}")


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
    """Rank 0 of a run that does not go on from the checkpoints in its folder moves the results there aside.

    They get a folder of their own in it, earlier_1 and so on. Returns what is to be said of it. KitError where the run
    starts from one of these files.
    """
    own, wanted = own_checkpoints(config), wanted_start(config)
    folder = own[0].parent
    if env.rank or restarts(environ) or wanted is True or not any((folder / name).exists() for name in _RESULTS):
        return ()
    sources = {"system.resume": wanted or None, "model.pretrained": config["model"]["pretrained"]}
    if sources["system.resume"] and _is_one_of(sources["system.resume"], own):
        return ()
    try:
        left = sorted(path for path in folder.iterdir() if _OF_A_RUN.fullmatch(path.name))
        for key, source in sources.items():
            if source and _is_one_of(source, left):
                raise KitError(
                    f"{key} is {source}, a result of the earlier run in {folder}, and a new run moves these aside",
                    hint="give the new run a folder of its own: -o train.ckpt_save_dir=...",
                )
        aside = _new_folder(folder)
        for path in left:
            if path.name == ARCHIVE:  # other ranks of this run may be about to read it: --config
                shutil.copyfile(path, aside / ARCHIVE)
            else:
                path.replace(aside / path.name)
    except OSError as error:
        raise KitError(f"cannot move {error.filename} aside: {error.strerror}") from error
    return (f"{folder} holds the results of an earlier run; they are now in {aside}",)


def stale_exports(folder: Path) -> list[Path]:
    """What tools/export.py made of a `best.ckpt` before the one that lies in the folder now."""
    best = folder / BEST
    exports = [path for path in (best.with_suffix(".onnx"), best.with_suffix(".mindir")) if path.exists()]
    return [path for path in exports if best.exists() and path.stat().st_mtime_ns < best.stat().st_mtime_ns]


def _is_one_of(source: Path | str | bool, paths: Iterable[Path]) -> bool:
    return Path(str(source)).resolve() in {path.resolve() for path in paths}


def _new_folder(folder: Path) -> Path:
    for number in range(1, MOST):
        with suppress(FileExistsError):
            (aside := folder / f"earlier_{number}").mkdir()
            return aside
    raise KitError(f"{folder} holds {MOST - 1} earlier runs", hint="remove some, or set train.ckpt_save_dir")
