"""The log of a run: text logs, metrics.jsonl, TensorBoard, pictures and summary.json."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hccl_kit.base import progress
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.base.terminal import printable
from hccl_kit.ocr import drawing, interrupt
from hccl_kit.ocr.checkpoints.previous_run import METRICS, SUMMARY, assert_writable
from hccl_kit.ocr.file_errors import OF_A_RUN, cannot_read, cannot_write, writing_into
from hccl_kit.ocr.run.curves import read_rows, row_of

EVENTS = "tensorboard"
FLUSH_S = 120.0
"""Seconds until events are on the disk, where TensorBoard sees them."""


class TensorBoard:
    """Writes into `folder`; events of an earlier run for steps after `step` are hidden. Raises KitError if it cannot.

    The package is imported with the first row, which is after the first step. Its SummaryWriter is not used: it
    writes in a thread that ends at the first error, and then waits forever for that thread.
    """

    def __init__(self, folder: Path, *, step: int) -> None:
        self._folder = folder / EVENTS
        self._step = step
        self._package: Any = None
        self._file: Any = None
        self._flushed = -FLUSH_S
        self._waiting: list[tuple[str, NDArray[np.uint8], int]] = []
        with writing_into(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)

    def row(self, row: Mapping[str, Any]) -> None:
        """Write every number of a line of metrics.jsonl as a scalar of its step."""
        with writing_into(self._folder):
            self._open()
            for name, value in row.items():
                if name != "step" and isinstance(value, (int, float)):
                    self._write(step=row["step"], summary=self._package.summary.scalar(name, value))
            if time.monotonic() - self._flushed >= FLUSH_S:
                self._file.flush()
                self._flushed = time.monotonic()

    def picture(self, name: str, image: NDArray[np.uint8], step: int) -> None:
        """Write an image HxWx3, BGR, at the latest with the next row."""
        self._waiting.append((name, image, step))
        if self._file is not None:
            with writing_into(self._folder):
                self._open()

    def close(self) -> None:
        """Write all pending events."""
        with writing_into(self._folder):
            self._open()
            self._file.close()

    def _open(self) -> None:
        """Open the file if it is not open yet, and write the pending pictures to it."""
        if self._file is None:
            with _not_installed("torch"):  # imported only to recognise its tensors; takes longer than a first step
                import tensorboardX  # noqa: PLC0415  # on rank 0 alone
                import tensorboardX.event_file_writer  # noqa: PLC0415
            self._package = tensorboardX
            self._file = tensorboardX.event_file_writer.EventsWriter(str(self._folder / "events"))
            start = tensorboardX.proto.event_pb2.SessionLog
            self._write(step=self._step + 1, session_log=start(status=start.START))
        for name, image, step in self._waiting:
            rgb = np.ascontiguousarray(image[:, :, ::-1])
            self._write(step=step, summary=self._package.summary.image(name, rgb, dataformats="HWC"))
        self._waiting.clear()

    def _write(self, **event: Any) -> None:
        self._file.write_event(self._package.proto.event_pb2.Event(wall_time=time.time(), **event))


@contextmanager
def _not_installed(package: str) -> Iterator[None]:
    """Within the block, `import package` raises ImportError, unless the package is imported already."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]  # makes the import fail
    try:
        yield
    finally:
        del sys.modules[package]


NEVER = logging.CRITICAL + 1
"""A level that no line has."""


class _Screen(logging.StreamHandler):  # type: ignore[type-arg]  # Python 3.10 has no arguments there
    """Standard output. If it is full or closed, the training continues without it; the log file has all lines."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # as logging names it
        del record
        self.setLevel(NEVER)


class RunLog:
    """The files of one rank in `folder`; rank 0 also prints the log and writes the files of the whole job.

    No file is written before `open`: until then, lines wait in memory. Raises KitError if none could be written.
    """

    def __init__(self, folder: Path, rank: int) -> None:
        self.folder = folder
        self.rank = rank
        self.is_main = rank == 0
        self._tensorboard: TensorBoard | None = None
        with writing_into(folder, hint=OF_A_RUN):
            folder.mkdir(parents=True, exist_ok=True)
            assert_writable(folder)
        self._log = logging.getLogger(f"hccl_kit.rank{rank}")
        self._log.setLevel(logging.INFO)
        self._log.propagate = False
        self._waiting: MemoryHandler | None = MemoryHandler(sys.maxsize, NEVER, flushOnClose=False)
        self._log.handlers = [self._waiting]
        if self.is_main and sys.stdout is not None:
            screen = _Screen(sys.stdout)
            screen.setFormatter(logging.Formatter("%(message)s"))
            self._log.addHandler(screen)

    def open(self, *, resumed: bool = False) -> None:
        """Begin to write: a resumed run appends to existing files, any other run overwrites them."""
        if self._waiting is None:
            return
        with writing_into(self.folder, hint=OF_A_RUN):
            if self.is_main and not resumed:
                for name in (METRICS, SUMMARY):
                    (self.folder / name).unlink(missing_ok=True)
            path, mode = self.folder / f"log_{self.rank}.txt", "a" if resumed else "w"
            handler = logging.FileHandler(path, mode=mode, encoding="utf-8")
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self._waiting.setTarget(handler)
        self._waiting.flush()
        self._log.removeHandler(self._waiting)
        self._log.addHandler(handler)
        self._waiting = None

    def say(self, message: str) -> None:
        """Log a line."""
        self._log.info(message)

    def warn(self, message: str) -> None:
        """Log a warning."""
        self._log.warning("warning: %s", message)

    def metrics(self, row: dict[str, Any]) -> None:
        """Append a line to metrics.jsonl, and its numbers to TensorBoard (rank 0)."""
        if self._tensorboard is not None:
            self._tensorboard.row(row)
        if self.is_main:
            try:
                with (self.folder / METRICS).open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            except OSError as error:
                raise cannot_write(self.folder / METRICS, error) from error

    def evaluation(self, row: dict[str, Any]) -> None:
        """Write the scores after a step as `metrics` does, in the place of those that a resumed run repeats."""
        if self.is_main and row["step"] in self.evaluations():
            _keep(self.folder / METRICS, lambda other: other["step"] != row["step"] or "loss" in other)
        self.metrics(row)

    def picture(self, name: str, image: NDArray[np.uint8], step: int) -> None:
        """Write a PNG, also to TensorBoard (rank 0)."""
        if self.is_main:
            _write(self.folder / f"{name}.png", drawing.encoded(image))
        if self._tensorboard is not None:
            self._tensorboard.picture(name, image, step)

    def rewind(self, step: int) -> None:
        """Open TensorBoard, and remove the lines of metrics.jsonl after `step`, whose steps are repeated (rank 0)."""
        if self.is_main:
            self._tensorboard = TensorBoard(self.folder, step=step)
            _keep(self.folder / METRICS, lambda row: row["step"] <= step)

    def evaluations(self) -> dict[int, dict[str, Any]]:
        """The scores in metrics.jsonl by the step after which they were taken (rank 0)."""
        path = self.folder / METRICS
        if not path.exists():
            return {}
        rows = (row for row in read_rows(path) if "loss" not in row)
        return {row["step"]: {key: value for key, value in row.items() if key != "step"} for row in rows}

    def remove(self, name: str) -> None:
        """Remove a file that an earlier part of the run has written (rank 0)."""
        if self.is_main:
            try:
                (self.folder / name).unlink(missing_ok=True)
            except OSError as error:
                raise KitError(
                    "ocr.log.cannot-remove",
                    "cannot remove {folder}: {reason}",
                    folder=self.folder / name,
                    reason=error.strerror,
                ) from error

    def write(self, name: str, text: str) -> None:
        """Write a file of the whole job (rank 0)."""
        if self.is_main:
            _write(self.folder / name, text)

    def close(self) -> None:
        """Close the log file and TensorBoard; an error of the latter is a warning, or it would hide that of the run.

        Warnings that were never written, because the run could not start, go to standard error; rank 0 has shown them.
        """
        if self._waiting is not None and not self.is_main:
            for record in self._waiting.buffer:
                if record.levelno >= logging.WARNING:
                    progress.say(printable(record.getMessage()))
        if self._tensorboard is not None:
            try:
                self._tensorboard.close()
            except KitError as error:
                self.warn(error.message)
        for handler in self._log.handlers:
            handler.close()
        self._log.handlers = []


def _keep(path: Path, is_kept: Callable[[Mapping[str, Any]], bool]) -> None:
    """Remove lines of metrics.jsonl, and one that a killed process left incomplete. The file is always whole."""
    if not path.exists():
        return
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    except OSError as error:
        raise cannot_read(path, error) from error
    whole = [(line, row) for line in lines if line.endswith("\n") and (row := row_of(line)) is not None]
    _write(path, "".join(line for line, row in whole if is_kept(row)))


def _write(path: Path, content: bytes | str) -> None:
    with interrupt.complete():
        write_atomically(path, content)
