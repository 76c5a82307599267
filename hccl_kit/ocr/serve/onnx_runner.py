"""A trained network in onnxruntime: its exported files are kept, so that later starts compile nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from hccl_kit.base.leftovers import sweep
from hccl_kit.base.private_folder import make_private
from hccl_kit.ocr.file_errors import cannot_write
from hccl_kit.ocr.infer.inference import Run
from hccl_kit.ocr.run import onnx_session
from hccl_kit.ocr.run.onnx_session import Session

Shape = tuple[int, ...]
Export = Callable[[Shape, Path], object]
"""Writes the file for images of a shape."""
KEPT = 50
"""Maximum number of files in the folder; the least recently used ones are removed."""


class OnnxRunner:
    """Files `name*.onnx` in `folder`, written by `export` when they are missing.

    `any_size`: one file takes images of all sizes; else there is one for each shape. `batches` is the expected number
    of batches, of which some run at the same time.
    """

    def __init__(self, folder: Path, name: str, export: Export, *, any_size: bool, batches: int) -> None:
        self.folder, self.name, self.export = folder, name, export
        self.any_size = any_size
        self.at_once, self.threads = onnx_session.share(batches)
        self.sessions: dict[Shape, Session] = {}

    def of_shape(self, shape: Sequence[int]) -> Run:
        """The session for images of this shape.

        Raises KitError if the network cannot be exported, the file cannot be written, or others may change it.
        """
        key = () if self.any_size else tuple(shape)
        if key not in self.sessions:
            try:
                make_private(self.folder)
            except OSError as error:
                raise cannot_write(self.folder, error) from error
            path = self.folder / f"{'_'.join([self.name, *map(str, key)])}.onnx"
            self.sessions[key] = self._kept(path) or self._exported(path, tuple(shape))
        return self.sessions[key]

    def _kept(self, path: Path) -> Session | None:
        """The session of a file; None if there is no file, or it is damaged."""
        try:
            os.utime(path)
            return onnx_session.opened(path, self.threads)
        except Exception:  # onnxruntime's exceptions have no other base class
            return None

    def _exported(self, path: Path, shape: Shape) -> Session:
        sweep(self.folder)
        self.export(shape, path)
        made = onnx_session.opened(path, self.threads)
        with suppress(OSError):  # another process does the same
            files = sorted(self.folder.glob("*.onnx"), key=lambda file: file.stat().st_mtime)
            for file in files[:-KEPT]:
                file.unlink(missing_ok=True)
        return made
