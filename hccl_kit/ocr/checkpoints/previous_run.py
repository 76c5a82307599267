"""The folder of a run, which has one at a time, and the files of an earlier one in it.

A second run would move files of the first aside, and both would mix their weights. The kernel ends the claim with the
process, also after SIGKILL.

A new run moves earlier results to a subfolder. Otherwise it could overwrite better weights with worse ones. It does so
when it is about to write its first file: a run that cannot start leaves the folder as it was.

Until then a mark in the folder says that the checkpoints there are of an earlier run. Otherwise a group that is killed
while it starts, and restarted by its launcher, would resume from them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hccl_kit.base.errors import KitError
from hccl_kit.base.integer import parse_integer
from hccl_kit.ocr.checkpoints import fetch
from hccl_kit.ocr.config import ARCHIVE, BEST
from hccl_kit.ocr.file_errors import OF_A_RUN, writing_into
from hccl_kit.runtime.worker_env import RESTART

if TYPE_CHECKING:
    from hccl_kit.ocr.config import Config

RESUME, PREVIOUS = "train_resume.ckpt", "train_resume.prev.ckpt"
"""The last checkpoint, and the one before it."""
KEPT, METRICS, SUMMARY = "ckpt_kept.json", "metrics.jsonl", "summary.json"
"""The index of `hccl_kit.ocr.checkpoints.retention`, and files of the whole run."""
MARK = ".new_run"
"""The mark of a new run that has not moved earlier results yet."""
_RESULTS = (RESUME, PREVIOUS, BEST, SUMMARY)
"""Any of these files shows that a run has results."""
_OF_A_RUN = re.compile(
    r"best\.(ckpt|onnx|mindir)|step_[0-9]+\.(ckpt|onnx|mindir)|train_resume(\.prev)?\.ckpt|ckpt_kept\.json"
    r"|train_config\.yaml|texts\.txt|summary\.json|metrics\.jsonl|log_[0-9]+\.txt|curves\.png|(first_batch|worst_lines|worst_pages)\.png|tensorboard"
)
"""The files that a run and an export write. Other files in the folder are not touched."""


def restarts(environ: Mapping[str, str]) -> int:
    """The number of restarts of the group, 0 at the first start. Raises KitError if the variable is not a number."""
    return parse_integer(RESTART, environ.get(RESTART) or "0", hint=f"unset {RESTART}")


def restarts_of_run(config: Config, environ: Mapping[str, str]) -> int:
    """The number of restarts of the run of `config`; 0 too if the group was restarted before the run wrote anything."""
    return 0 if (_folder(config) / MARK).exists() else restarts(environ)


def wanted_start(config: Config) -> Path | bool:
    """The meaning of `system.resume`: True: the checkpoints in the run's folder; False: none; or a file.

    `auto` is True if the folder has a checkpoint.
    """
    wanted = config["system"]["resume"]
    if wanted == "auto":
        return any(path.exists() for path in own_checkpoints(config))
    return wanted if isinstance(wanted, bool) else Path(wanted)


def own_checkpoints(config: Config) -> list[Path]:
    """The checkpoints from which a run resumes, the latest first."""
    return [_folder(config) / RESUME, _folder(config) / PREVIOUS]


def announce(config: Config, environ: Mapping[str, str]) -> None:
    """Mark the folder if this run is going to move earlier results in it (rank 0).

    Raises KitError if the run starts from one of them, or the folder cannot be written.
    """
    folder = _folder(config)
    with writing_into(folder, hint=OF_A_RUN):
        if _earlier_results(config, environ):
            (folder / MARK).touch()
        else:
            (folder / MARK).unlink(missing_ok=True)


def withdraw(config: Config) -> None:
    """Remove the mark of a run that could not start: its launcher does not restart it."""
    with suppress(OSError):  # such as: no such folder
        (_folder(config) / MARK).unlink(missing_ok=True)


def make_room(config: Config, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Move earlier results in the folder of a run that does not resume from them (rank 0); returns notes.

    They move to a subfolder, earlier_1 and so on, all or none. Raises KitError as `announce` does.
    """
    folder = _folder(config)
    try:
        left = _earlier_results(config, environ)
        if not left:
            return ()
        aside = _new_folder(folder)
        _move(left, aside)
        (folder / MARK).unlink(missing_ok=True)
    except OSError as error:
        raise KitError(
            "ocr.previous-run.cannot-move-aside",
            "cannot move {filename} aside: {reason}",
            filename=error.filename,
            reason=error.strerror,
        ) from error
    return (f"{folder} holds the results of an earlier run; they are now in {aside}",)


def _earlier_results(config: Config, environ: Mapping[str, str]) -> list[Path]:
    """The files of an earlier run that a new one moves. Raises KitError if it starts from one of them, and OSError."""
    checkpoints, wanted = own_checkpoints(config), wanted_start(config)
    folder = _folder(config)
    if restarts_of_run(config, environ) or wanted is True or not any((folder / name).exists() for name in _RESULTS):
        return []
    if wanted and _is_one_of(wanted, checkpoints):
        return []
    left = sorted(path for path in folder.iterdir() if _OF_A_RUN.fullmatch(path.name))
    for key, source in _read_at_the_start(config, environ).items():
        if _is_one_of(source, left):
            raise KitError(
                "ocr.previous-run.result-earlier-run",
                "{key} is {source}, a result of the earlier run in {folder}, and a new run moves these aside",
                fix="give the new run a folder of its own: -o train.ckpt_save_dir=...",
                key=key,
                source=source,
                folder=folder,
            )
    return left


def _move(files: Iterable[Path], aside: Path) -> None:
    """Move all files to the folder `aside`; if one cannot be moved, none is, and OSError is raised."""
    moved = []
    try:
        for path in files:
            if path.name == ARCHIVE:  # -c may name it, and this run may end before it writes its own
                shutil.copyfile(path, aside / ARCHIVE)
            else:
                path.replace(aside / path.name)
                moved.append(path)
    except OSError:
        with suppress(OSError):
            for path in moved:
                (aside / path.name).replace(path)
            shutil.rmtree(aside)
        raise


def _folder(config: Config) -> Path:
    return Path(config["train"]["ckpt_save_dir"])


def _read_at_the_start(config: Config, environ: Mapping[str, str]) -> dict[str, Path]:
    """The keys that name a file from which a run starts, with its path."""
    paths = {key: fetch.local_path(key, name, environ) for key, name in fetch.wanted(config["model"]).items()}
    wanted, model = wanted_start(config), config.values.get("postprocess", {}).get("language_model")
    if isinstance(wanted, Path):
        paths["system.resume"] = wanted
    if model and model["texts"]:
        paths["postprocess.language_model.texts"] = Path(model["texts"])
    return paths


def stale_exports(folder: Path) -> list[Path]:
    """Exports in the folder that are older than its best.ckpt."""
    best = folder / BEST
    exports = [path for path in (best.with_suffix(".onnx"), best.with_suffix(".mindir")) if path.exists()]
    return [path for path in exports if best.exists() and path.stat().st_mtime_ns < best.stat().st_mtime_ns]


def _is_one_of(source: Path | bool, paths: Iterable[Path]) -> bool:
    return Path(str(source)).resolve() in {path.resolve() for path in paths}


def _new_folder(folder: Path) -> Path:
    number = 1
    while (aside := folder / f"earlier_{number}").exists() or aside.is_symlink():  # it may lead nowhere
        number += 1
    aside.mkdir()
    return aside


PATIENCE = 5.0
"""Seconds to wait for a run that is about to end."""
PATIENCE_OF_RESTART = 60.0
"""The same for a group that is started again: its last run may be on another server, and still save."""
_CLAIMED: set[tuple[int, int]] = set()
"""Device and inode of the folders that this process has: it may train into one again."""


def claim(folder: Path, *, patience: float = PATIENCE) -> None:
    """Create the folder of a run, and keep it for this process until it ends. Rank 0 must call it.

    Raises KitError if another process has it or it cannot be created. File systems without locks have no claims.
    """
    with writing_into(folder, hint=OF_A_RUN):
        folder.mkdir(parents=True, exist_ok=True)
        assert_writable(folder)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # stays open
    status = os.fstat(descriptor)
    if (status.st_dev, status.st_ino) in _CLAIMED:
        os.close(descriptor)
        return
    end = time.monotonic() + patience
    while not _is_ours(descriptor):
        if time.monotonic() > end:
            os.close(descriptor)
            raise KitError(
                "ocr.claim.another-training-writing",
                "another training is writing into {folder}",
                fix="wait for its end, or give this run a folder of its own: -o train.ckpt_save_dir=...",
                folder=folder,
            )
        time.sleep(0.1)
    _CLAIMED.add((status.st_dev, status.st_ino))


def assert_writable(folder: Path) -> None:
    """Raises PermissionError if this user may not write into the folder, or its file system is read-only."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def _is_ours(descriptor: int) -> bool:
    """Whether this process has the lock, or there can be none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks, or NFS, which has none for a folder
        return True
    return True
