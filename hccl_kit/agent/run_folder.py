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
from typing import TYPE_CHECKING

from hccl_kit.agent.texts import ENGLISH, phrase

if TYPE_CHECKING:
    from hccl_kit.agent.texts import Texts

STARTED_HERE = ".started-here"
"""A file in the log folder where a job of several servers was started: a server that sees it has the same disk."""


class UnsafeError(Exception):
    """A folder that is not safe: why, and the next step; its text has both."""

    def __init__(self, texts: Texts, id_: str, folder: Path) -> None:
        self.what, self.fix = (phrase(texts, name, folder=folder) for name in (id_, f"{id_}.fix"))
        super().__init__(phrase(texts, "agent.unsafe", what=self.what, fix=self.fix))


def trusted_logs(logs: Path, note: Callable[[str], object], texts: Texts = ENGLISH) -> Path:
    """The folder `logs`, absolute, made if it is not there. `note` gets the risks that the user may accept, in a
    language.

    Raises UnsafeError, and OSError if the folder cannot be made.
    """
    here = logs.parent
    owner = here.stat().st_uid
    ours = {0, os.geteuid(), owner}  # on a network disk, root may be another user
    _trust(here, note, texts)
    if owner not in (0, os.geteuid()):
        note(phrase(texts, "agent.of-user", folder=here, user=owner))
    if os.path.lexists(logs):
        if not {logs.lstat().st_uid, logs.stat().st_uid} <= ours:
            raise UnsafeError(texts, "agent.of-other", logs)
        if logs.is_dir():
            _trust(logs, note, texts)
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


def _trust(folder: Path, note: Callable[[str], object], texts: Texts) -> None:
    """Who may write to a folder that is not sticky may replace what is in it."""
    state = folder.stat()
    if state.st_mode & stat.S_ISVTX:
        return
    if state.st_mode & stat.S_IWOTH:
        raise UnsafeError(texts, "agent.of-all", folder)
    if state.st_mode & stat.S_IWGRP and state.st_gid != os.geteuid():  # a group of one user has the number of the user
        note(phrase(texts, "agent.of-group", folder=folder, group=state.st_gid))
