"""The folder of a run, `hccl_logs/RUN` below the current folder, and whether it is safe there.

Everybody knows the name `hccl_logs`, and the files of a run are written, and read as results, under names that are
known too. So a run has a folder that was made for it, with mode 700, in folders in which no other user can replace it;
the rule is that of OpenSSH for the files of a user, except that a group is a note: many projects share a folder.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

LOGS = "hccl_logs"
STARTED_HERE = ".started-here"
"""A file in the log folder where a job of several servers was started: a server that sees it has the same disk."""


class UnsafeError(Exception):
    """A folder that is not safe; the message has the next step in its second line."""


def trusted_logs(logs: Path, note: Callable[[str], object]) -> Path:
    """The folder `logs`, absolute, made if it is not there. `note` gets the risks that the user may accept.

    Raises UnsafeError, and OSError if the folder cannot be made.
    """
    here = logs.parent
    owner = here.stat().st_uid
    ours = {0, os.geteuid(), owner}  # on a network disk, root may be another user
    _trust(here, note)
    if owner not in (0, os.geteuid()):
        note(f"the folder {here} belongs to user {owner}, who may replace the files of this job")
    if os.path.lexists(logs):
        if not {logs.lstat().st_uid, logs.stat().st_uid} <= ours:
            what = f"the folder {logs} belongs to another user, who may replace the logs of a job"
            raise UnsafeError(f"{what}\n  fix: start in a folder of your own")
        if logs.is_dir():
            _trust(logs, note)
    if not logs.is_dir():
        logs.mkdir(mode=0o700)
    return logs


def new_run(logs: Path, name: str) -> Path:
    """The new folder NAME of a run, or NAME-2, ... if there is such a folder. Raises OSError."""
    number = 1
    while True:
        run = logs / (name if number == 1 else f"{name}-{number}")
        try:
            run.mkdir(mode=0o700)
        except FileExistsError:
            number += 1
        else:
            return run


def name_of_run() -> str:
    """A name that no other run has; process ids are no such thing, they repeat in containers."""
    return time.strftime("%Y%m%d-%H%M%S-") + str(int.from_bytes(os.urandom(4), "big"))


def _trust(folder: Path, note: Callable[[str], object]) -> None:
    """Who may write to a folder that is not sticky may replace what is in it."""
    found = folder.stat()
    if found.st_mode & stat.S_ISVTX:
        return
    if found.st_mode & stat.S_IWOTH:
        what = f"every user may write to the folder {folder}, and replace the logs of a job"
        raise UnsafeError(f"{what}\n  fix: chmod o-w {folder}, or start in a folder of your own")
    if found.st_mode & stat.S_IWGRP and found.st_gid != os.geteuid():  # a group of one user has the number of the user
        note(f"group {found.st_gid} may write to the folder {folder}, and replace the files of this job")
