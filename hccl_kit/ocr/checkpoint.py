"""Weights and everything else a run needs to go on, in MindSpore's checkpoint files, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor

from hccl_kit.errors import KitError

_STEP, _BEST = "hccl_kit.step", "hccl_kit.best"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: `step` steps are done, `best` is the best score so far (-1: none yet)."""

    step: int = 0
    best: float = -1.0


def save(path: Path, parameters: Iterable[Parameter], progress: Progress | None = None) -> None:
    """Write the parameters, with a checksum, to `path`; the file before it stays until the new one is complete."""
    rows = []
    if progress is not None:  # first: a file cut off between two rows carries no checksum, but lacks a parameter
        rows.append({"name": _STEP, "data": Tensor(np.int64(progress.step))})
        rows.append({"name": _BEST, "data": Tensor(np.float64(progress.best))})
    rows += [{"name": parameter.name, "data": Tensor(parameter.asnumpy())} for parameter in parameters]
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.ckpt")
    try:
        ms.save_checkpoint(rows, str(temporary), crc_check=True)
        temporary.chmod(0o644)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except (OSError, RuntimeError) as error:
        raise KitError(f"cannot write the checkpoint {path}: {error}") from error
    finally:
        for left in (temporary, temporary.with_suffix(".tmp")):  # the second is what MindSpore itself writes first
            with suppress(OSError):  # such as: the folder is a file
                left.unlink()


def load(path: Path, parameters: Iterable[Parameter]) -> Progress:
    """Set the parameters from `path` and return how far that run was; a parameter that is missing is an error."""
    rows = _read(path)
    problems = []
    for parameter in parameters:
        row = rows.get(parameter.name)
        if row is None:
            problems.append(f"{parameter.name} is missing")
        elif row.shape != parameter.shape:
            problems.append(f"{parameter.name} is {row.shape}, the network has {parameter.shape}")
        else:
            parameter.set_data(Tensor(row.asnumpy(), parameter.dtype))
    if problems:
        shown = "\n       ".join(problems[:5] + ([f"and {len(problems) - 5} more"] if len(problems) > 5 else []))
        raise KitError(f"{path} does not fit this configuration:\n       {shown}")
    if _STEP not in rows:
        return Progress()
    return Progress(int(rows[_STEP].asnumpy()), float(rows[_BEST].asnumpy()))


def _read(path: Path) -> Mapping[str, Parameter]:
    if not path.is_file():
        raise KitError(f"there is no checkpoint {path}", hint="train first, or name a file that exists")
    try:
        rows: Mapping[str, Parameter] = ms.load_checkpoint(str(path), crc_check=True)
    except (ValueError, RuntimeError) as error:
        first = str(error).strip().split("\n")[0]
        raise KitError(f"the checkpoint {path} is damaged or not a checkpoint: {first}") from error
    return rows
