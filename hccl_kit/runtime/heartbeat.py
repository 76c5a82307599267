"""A sign of life for the launcher: the number of the last finished step, in a file of the run's log folder.

Only our own scripts name that folder (HCCL_KIT_LOG_DIR); without one nothing is written. The file is first written when
the first step is done, so that compiling the network is not taken for a hang; a launcher that finds no file waits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.runtime.worker_env import LOG_DIR, integer

MAX_STEP = 10**18 - 1


class Heartbeat:
    """Writes `step_<rank>`: the step in decimal, a newline.

    Every beat sets the time of the file anew, also where the number is the one before: an evaluation beats with the
    step that it stands at. It costs one system call (2 microseconds) and is never an error: a full disk stops nothing,
    and after a beat that could not be written the next one opens the file anew.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._file: int | None = None
        self._empty = os.O_TRUNC  # what an earlier start has left; never again, an empty file is no sign of life

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], *, rank: int | None = None) -> Heartbeat:
        """The heartbeat of this process; `rank` is asked for where no script of ours has numbered the ranks."""
        folder = environ.get(LOG_DIR)
        if rank is None:
            with suppress(KitError):
                rank = integer(environ, "rank")
        return cls(Path(folder) / f"step_{rank}" if folder and rank is not None else None)

    def beat(self, step: int) -> None:
        """Say that `step` steps are done; they only grow, so a line never leaves part of an older one behind."""
        if self.path is None:
            return
        try:
            if self._file is None:
                self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | self._empty, 0o644)
                self._empty = 0
            os.pwrite(self._file, b"%d\n" % min(step, MAX_STEP), 0)
        except OSError:
            if self._file is not None:
                with suppress(OSError):
                    os.close(self._file)
                self._file = None
