"""A heartbeat for the launcher: the number of the last finished step, in a file of the run's log folder.

Only the scripts of this project set that folder (HCCL_KIT_LOG_DIR); without it nothing is written. The file is created
after the first step, so that compiling the network does not count as a hang; without a file the launcher waits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.runtime.flight_recorder import OFF, FlightRecorder, open_in, recorder
from hccl_kit.runtime.worker_env import LOG_DIR, integer

MAX_STEP = 10**18 - 1


class Heartbeat:
    """Writes `step_<rank>`: the step in decimal, a newline.

    Every beat updates the time of the file, also with the same number: an evaluation beats with the current step. It
    costs one system call (a few microseconds) and never fails: after a write error, such as a full disk, the next beat
    opens the file again. What the flight recorder writes has the step too, with what `hccl-kit watch` shows.
    """

    def __init__(self, path: Path | None, recorder: FlightRecorder = OFF) -> None:
        self.path = path
        self.recorder = recorder
        self.file: int | None = None
        self._is_new = True  # only the first time: an empty file is not a heartbeat

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], *, rank: int | None = None) -> Heartbeat:
        """The heartbeat of this process; pass `rank` if the environment does not contain it."""
        folder = environ.get(LOG_DIR)
        if rank is None:
            with suppress(KitError):
                rank = integer(environ, "rank")
        path = Path(folder) / f"step_{rank}" if folder and rank is not None else None
        return cls(path, recorder(environ, rank=rank))

    def beat(self, step: int, *, loss: float | None = None, parts: tuple[float, float, float] | None = None) -> None:
        """Report that `step` steps are done. Steps must not decrease, so a line covers the previous one.

        `parts`: seconds of data, compute and communication since the last beat. Without them they are measured: data is
        the time in `waiting("data")`, communication that in `collective(...)`, compute the rest outside such blocks.
        """
        if self.path is None:
            return
        self.recorder.beat(step, loss, parts)
        try:
            if self.file is None:
                self.file = open_in(self.path.parent, self.path.name, is_new=self._is_new)
                self._is_new = False
            os.pwrite(self.file, b"%d\n" % min(step, MAX_STEP), 0)
        except OSError:
            if self.file is not None:
                with suppress(OSError):
                    os.close(self.file)
                self.file = None
