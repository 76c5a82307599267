"""The figures of metrics.jsonl for TensorBoard, in the folder `tensorboard` of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError

FOLDER = "tensorboard"


class TensorBoard:
    """Writes into `folder`; what an earlier run has written there for steps after `step` is hidden."""

    def __init__(self, folder: Path, *, step: int) -> None:
        from tensorboardX import SummaryWriter  # noqa: PLC0415  # on rank 0 alone

        try:
            self._writer = SummaryWriter(str(folder / FOLDER), purge_step=step + 1)
        except OSError as error:
            raise KitError(f"cannot write into {folder / FOLDER}: {error.strerror}") from error

    def row(self, row: Mapping[str, Any]) -> None:
        """Every number of a line of metrics.jsonl, as a scalar of its step."""
        for name, value in row.items():
            if name != "step" and isinstance(value, (int, float)):
                self._writer.add_scalar(name, value, row["step"])

    def picture(self, name: str, image: NDArray[np.uint8], step: int) -> None:
        """An image HxWx3, blue first as OpenCV has it."""
        self._writer.add_image(name, np.ascontiguousarray(image[:, :, ::-1]), step, dataformats="HWC")

    def close(self) -> None:
        """Write what is still in memory."""
        self._writer.close()
