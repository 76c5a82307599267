"""The values of metrics.jsonl for TensorBoard, in the folder `tensorboard` of a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hccl_kit.ocr.file_errors import writing_into

FOLDER = "tensorboard"
FLUSH_S = 120.0
"""Seconds until events are on the disk, where TensorBoard sees them."""


class TensorBoard:
    """Writes into `folder`; events of an earlier run for steps after `step` are hidden. Raises KitError if it cannot.

    The package is imported with the first row, which is after the first step. Its SummaryWriter is not used: it
    writes in a thread that ends at the first error, and then waits forever for that thread.
    """

    def __init__(self, folder: Path, *, step: int) -> None:
        self._folder = folder / FOLDER
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
