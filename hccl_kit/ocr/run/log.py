"""What a run leaves behind for people and programs: logs, metrics.jsonl and TensorBoard, pictures, summary.json."""

from __future__ import annotations

import json
import logging
import math
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.ocr import interrupt
from hccl_kit.ocr.checkpoints.previous_run import METRICS, SUMMARY
from hccl_kit.ocr.run.tensorboard import TensorBoard

MAX_BYTES = 1 << 30
"""Of metrics.jsonl: some million steps."""


class RunLog:
    """The files of one rank in `folder`; rank 0 also speaks on the screen and writes the files of the whole job.

    A resumed run goes on in the files that are there, any other one begins them anew.
    """

    def __init__(self, folder: Path, rank: int, *, resumed: bool = False) -> None:
        self.folder = folder
        self.is_main = rank == 0
        self._board: TensorBoard | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if self.is_main and not resumed:
                for name in (METRICS, SUMMARY):
                    (folder / name).unlink(missing_ok=True)
            handler: logging.Handler = logging.FileHandler(
                folder / f"log_{rank}.txt", mode="a" if resumed else "w", encoding="utf-8"
            )
        except OSError as error:
            raise KitError(f"cannot write into {folder}: {error.strerror}", hint="see train.ckpt_save_dir") from error
        self._log = logging.getLogger(f"hccl_kit.rank{rank}")
        self._log.setLevel(logging.INFO)
        self._log.propagate = False
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        self._log.handlers = [handler]
        if self.is_main:
            screen = logging.StreamHandler(sys.stdout)
            screen.setFormatter(logging.Formatter("%(message)s"))
            self._log.addHandler(screen)

    def say(self, message: str) -> None:
        """One line for people."""
        self._log.info(message)

    def warn(self, message: str) -> None:
        """One line that should not be overlooked."""
        self._log.warning("warning: %s", message)

    def metrics(self, row: dict[str, Any]) -> None:
        """One line of metrics.jsonl, and its numbers for TensorBoard (rank 0)."""
        if self._board is not None:
            self._board.row(row)
        if self.is_main:
            try:
                with (self.folder / METRICS).open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            except OSError as error:
                raise KitError(f"cannot write {self.folder / METRICS}: {error.strerror}") from error

    def picture(self, name: str, image: NDArray[np.uint8], step: int) -> None:
        """A PNG of the whole job, and the same for TensorBoard (rank 0)."""
        if self.is_main:
            done, data = cv2.imencode(".png", image)
            assert done
            _write(self.folder / f"{name}.png", data.tobytes())
        if self._board is not None:
            self._board.picture(name, image, step)

    def rewind(self, step: int) -> None:
        """Take back the lines of metrics.jsonl that lie after `step`, whose steps are to be done again (rank 0)."""
        if self.is_main:
            self._board = TensorBoard(self.folder, step=step)
        path = self.folder / METRICS
        if not self.is_main or not path.exists():
            return
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        except OSError as error:
            raise KitError(f"cannot read {path}: {error.strerror}") from error
        _write(path, "".join(line for line in lines if _step_of(line) <= step))

    def evaluated(self, step: int) -> bool:
        """Whether metrics.jsonl has the evaluation after `step` (rank 0)."""
        path = self.folder / METRICS
        if not path.exists():
            return False
        lines = read_text(path, MAX_BYTES).splitlines()
        return any(_step_of(line) == step and "loss" not in json.loads(line) for line in lines)

    def remove(self, name: str) -> None:
        """Take away a file of the whole job that an earlier part of the run has written (rank 0)."""
        if self.is_main:
            try:
                (self.folder / name).unlink(missing_ok=True)
            except OSError as error:
                raise KitError(f"cannot remove {self.folder / name}: {error.strerror}") from error

    def write(self, name: str, text: str) -> None:
        """A file of the whole job (rank 0)."""
        if self.is_main:
            _write(self.folder / name, text)

    def close(self) -> None:
        """Close the log file, and write what TensorBoard has not yet."""
        if self._board is not None:
            self._board.close()
        for handler in self._log.handlers:
            handler.close()
        self._log.handlers = []


def _write(path: Path, content: bytes | str) -> None:
    with interrupt.complete():
        write_atomically(path, content)


def _step_of(line: str) -> float:
    """A line that a process could not finish lies after every step."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, TypeError, KeyError):
        return math.inf
