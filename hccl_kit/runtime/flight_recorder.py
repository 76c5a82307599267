"""What a rank did last, in a file of fixed size in the run's log folder: read after the job has died, or stands still.

    from hccl_kit import collective, recorded, waiting

    with recorded():                                   # the file is made, and says at last how the block ended
        with waiting("data"):
            batch = next(batches)
        with collective("all_reduce", gradients.nbytes):
            all_reduce(gradients)

Only the scripts of this project set the folder (HCCL_KIT_LOG_DIR); without it nothing is written. `facts_<rank>.jsonl`
has lines of fixed length, each an object or blank, and is written whole when it is made: what is recorded later fits
even where the disk is full, and is there even after SIGKILL.

    {"version": 1, "rank": 3, "ranks": 8, "host": "n1", "device": 7, "pid": 4711, "start": 1767225600.25}
    {"alive": 1767225731.5, "step": 2705, "doing": "data", "since": 1767225730.1, "idle": 0.2, "loss": 0.31, "memory":
     536870912, "windows": [[2700, 10, 2.0, 0.1, 1.5, 0.4], ...]}
    {"ended": "ValueError", "message": "...", "time": 1767225732.0}
    {"n": 2706, "op": "all_reduce", "bytes": 4096, "step": 2705, "begun": 1767225731.2, "left": null}
    {"curve": [1767225600.0, 1200, 10, 2.0, 0.1, 1.5, 0.4, 0.35, 536870912]}

The second line is written every second by a thread: it stands still if the process is stopped or dead, but not if the
rank only waits. "idle" is the seconds since the last beat (`Heartbeat`), and a window is: last step, number of steps,
their seconds, and of these data, compute and communication. "ended" is "done" at the end of the block, or the name of
an exception. Then comes a ring of the last RING collectives, the n-th at n % RING; "left" is null while the rank is
inside. At the end are up to POINTS points of the curve of the run: time, a window, mean loss, bytes of memory.

A program of torch need not name its collectives: those that torch's own recorder has are written beside this file (see
torch_trace).
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from hccl_kit.base.terminal import printable
from hccl_kit.runtime import torch_trace
from hccl_kit.runtime.pulse import POINTS, Point, Pulse
from hccl_kit.runtime.torch_trace import TorchTrace
from hccl_kit.runtime.worker_env import LOG_DIR, WorkerEnv, card_or_none, integer_or_none

VERSION = 1
RING = 256
"""Collectives that are kept."""
ENTRY, HEAD = 192, 1024
"""Bytes of a line of the ring and of the curve, and of each of the three lines before the ring."""
CURVE_AT = 3 * HEAD + RING * ENTRY
"""Where the curve begins."""
INTERVAL = 1.0
"""Seconds between two signs of life."""
MAX_NAME = 40
"""Characters of the name of an operator."""
DONE = "done"


class FlightRecorder:
    """Writes `facts_<rank>.jsonl`. An error of the file system ends the recording, and is not raised."""

    def __init__(self, path: Path | None, head: Mapping[str, object]) -> None:
        self.step = 0
        self._count = 0
        self._doing: tuple[str, float] | None = None
        self.pulse = Pulse()
        self._points: tuple[Point, ...] = ()
        self._is_over = threading.Event()
        self._torch = None if path is None else TorchTrace(path.with_name(torch_trace.NAME.format(head["rank"])))
        self._file = None if path is None else _make(path, head)
        if self._file is not None:
            self.sign_of_life()
            _start(self._stay_alive)

    def beat(self, step: int, loss: float | None = None, parts: tuple[float, float, float] | None = None) -> None:
        """Record that `step` steps are done: see `Pulse.beat`."""
        self.step = step
        if self._file is not None:
            self.pulse.beat(step, loss, parts)

    @contextmanager
    def collective(self, operator: str, size: int | None = None) -> Iterator[None]:
        """Record that this rank enters a collective, and leaves it; `size` in bytes."""
        self._count += 1
        at = 3 * HEAD + self._count % RING * ENTRY
        entry = (  # by hand: json.dumps takes twice as long
            f'{{"n": {self._count}, "op": {_name(operator)}, "bytes": {"null" if size is None else size}, '
            f'"step": {self.step}, "begun": {time.time():.6f}, "left": '
        )
        with self._inside(operator, "communication"):
            self._write(f"{entry}null}}".encode().ljust(ENTRY - 1) + b"\n", at)
            yield
        self._write(f"{entry}{time.time():.6f}}}".encode().ljust(ENTRY - 1) + b"\n", at)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Record what this rank waits for, such as "data"; it is written with the next sign of life."""
        with self._inside(what, "data" if what == "data" else "other"):
            yield

    @contextmanager
    def _inside(self, what: str, part: str) -> Iterator[None]:
        """Count the time of the block for this part of a step, unless the block is inside another."""
        before, self._doing = self._doing, (what, time.time())
        began = time.perf_counter()
        try:
            yield
        finally:
            self._doing = before
            if before is None:
                self.pulse.spent(part, time.perf_counter() - began)

    def ended(self, how: str, message: str = "") -> None:
        """Record how the rank ended; the first time counts."""
        if self._is_over.is_set():
            return
        self._is_over.set()
        row = {"ended": how[:MAX_NAME], "message": "", "time": time.time()}
        length = 400  # characters; one may become six bytes
        while len(line := _line({**row, "message": printable(message[:length])}, HEAD)) > HEAD:
            length //= 2
        self.sign_of_life()
        self._write(line, 2 * HEAD)
        if self._torch is not None and self._file is not None:
            self._torch.done() if how == DONE else self._torch.failed()

    @property
    def is_on(self) -> bool:
        """Whether anything is recorded."""
        return self._file is not None

    def killed(self) -> None:
        """Record what there is to record before a signal ends the process."""
        self.sign_of_life()
        if self._torch is not None:
            self._torch.failed()

    def _stay_alive(self) -> None:
        while not self._is_over.wait(INTERVAL):
            self.sign_of_life()
            if self._torch is not None:
                self._torch.look()

    def sign_of_life(self) -> None:
        """Write what the rank does now, and the points of the curve that are new."""
        doing, since = self._doing or (None, None)
        row = {"alive": time.time(), "step": self.step, "doing": doing and doing[:MAX_NAME], "since": since}
        line = _line(row | self.pulse.row(), HEAD)
        self._write(line if len(line) == HEAD else _line(row, HEAD), HEAD)
        self._draw()

    def _draw(self) -> None:
        """Write the points of the curve that are new; all of them after each two have become one."""
        before, self._points = self._points, self.pulse.points
        if self._points is before:
            return
        is_longer = len(self._points) > len(before)
        blank = b" " * (ENTRY - 1) + b"\n"
        rows = (_line({"curve": point.row()}, ENTRY) for point in self._points)
        lines = [line if len(line) == ENTRY else blank for line in rows]  # absurd numbers do not fit
        first = len(before) if is_longer else 0
        self._write(b"".join(lines[first:]) + blank * (len(before) - len(lines)), CURVE_AT + first * ENTRY)

    def _write(self, line: bytes, at: int) -> None:
        if self._file is not None:
            try:
                os.pwrite(self._file, line, at)
            except OSError:
                self._file = None  # not closed: another thread may be writing


@lru_cache(64)
def _name(operator: str) -> str:
    """The name as JSON, of at most MAX_NAME characters."""
    shown = "".join(c if c.isascii() and c.isprintable() else "?" for c in operator[:MAX_NAME])
    return json.dumps(shown.replace("\\", "?").replace('"', "?"))


def _line(row: Mapping[str, object], length: int) -> bytes:
    return json.dumps(row).encode().ljust(length - 1) + b"\n"


def _make(path: Path, head: Mapping[str, object]) -> int | None:
    """The file, written whole; None if that is not possible."""
    blank = (b" " * (HEAD - 1) + b"\n") * 2 + (b" " * (ENTRY - 1) + b"\n") * (RING + POINTS)
    text = _line(head, HEAD) + blank
    file = None
    try:
        file = open_in(path.parent, path.name, is_new=True)
        if os.pwrite(file, text, 0) == len(text):
            return file
    except OSError:
        pass
    if file is not None:
        os.close(file)
    return None


def _start(target: Callable[[], None]) -> None:
    """Start a thread that no signal of the process goes to."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        threading.Thread(target=target, name="flight recorder", daemon=True).start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_of_process: dict[tuple[str, int], FlightRecorder] = {}
"""The recorder of this process, by folder and rank: a process is one rank of one run."""
OFF = FlightRecorder(None, {})


def recorder(
    environ: Mapping[str, str] = os.environ, *, rank: int | None = None, env: WorkerEnv | None = None
) -> FlightRecorder:
    """The recorder of this process, made at the first call; pass `env` or `rank` if the environment has none."""
    folder = environ.get(LOG_DIR)
    if not folder:
        return OFF
    number = env.rank if env else integer_or_none(environ, "rank") if rank is None else rank
    if number is None:
        return OFF
    if (folder, number) not in _of_process:
        head = {
            "version": VERSION,
            "rank": number,
            "ranks": env.size if env else integer_or_none(environ, "size"),
            "host": socket.gethostname()[:64],
            "device": card_or_none(environ, env),
            "pid": os.getpid(),
            "start": time.time(),
        }
        _of_process[folder, number] = FlightRecorder(Path(folder) / f"facts_{number}.jsonl", head)
    return _of_process[folder, number]


@contextmanager
def collective(operator: str, size: int | None = None) -> Iterator[None]:
    """Record that this rank enters the collective of the block, and leaves it."""
    with recorder().collective(operator, size):
        yield


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Record what this rank waits for in the block."""
    with recorder().waiting(what):
        yield


def open_in(folder: str | Path, name: str, *, is_new: bool) -> int:
    """The descriptor of a file in `folder`, opened for writing; emptied with `is_new`. Raises OSError.

    What another user may have put there under the name is not written to: a link of either kind leads to another file,
    and a pipe would stop the rank.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        file = os.open(name, flags, 0o644, dir_fd=place)
    finally:
        os.close(place)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise OSError(errno.ELOOP, "not a file of this run", name)
        if is_new:
            os.ftruncate(file, 0)
    except OSError:
        os.close(file)
        raise
    return file
