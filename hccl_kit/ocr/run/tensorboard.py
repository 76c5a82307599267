"""The values of metrics.jsonl for TensorBoard, in the folder `tensorboard` of a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError

FOLDER = "tensorboard"


class TensorBoard:
    """Writes into `folder`; events of an earlier run for steps after `step` are hidden.

    The package is imported with the first row, which is after the first step.
    """

    def __init__(self, folder: Path, *, step: int) -> None:
        self._folder = folder / FOLDER
        self._step = step
        self._writer: Any = None
        self._waiting: list[tuple[str, NDArray[np.uint8], int]] = []
        with self._writable():
            self._folder.mkdir(parents=True, exist_ok=True)

    def row(self, row: Mapping[str, Any]) -> None:
        """Write every number of a line of metrics.jsonl as a scalar of its step."""
        writer = self._opened()
        for name, value in row.items():
            if name != "step" and isinstance(value, (int, float)):
                writer.add_scalar(name, value, row["step"])

    def picture(self, name: str, image: NDArray[np.uint8], step: int) -> None:
        """Write an image HxWx3, BGR, at the latest with the next row."""
        self._waiting.append((name, image, step))
        if self._writer is not None:
            self._opened()

    def close(self) -> None:
        """Write all pending events."""
        self._opened().close()

    def _opened(self) -> Any:
        """The writer, after the pending pictures are added to it."""
        if self._writer is None:
            with _not_installed("torch"):  # imported only to recognise its tensors; takes longer than a first step
                from tensorboardX import SummaryWriter  # noqa: PLC0415  # on rank 0 alone
            with self._writable():
                self._writer = SummaryWriter(str(self._folder), purge_step=self._step + 1)
        for name, image, step in self._waiting:
            self._writer.add_image(name, np.ascontiguousarray(image[:, :, ::-1]), step, dataformats="HWC")
        self._waiting.clear()
        return self._writer

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise KitError(f"cannot write into {self._folder}: {error.strerror}") from error


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
