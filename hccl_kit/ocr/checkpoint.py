"""Weights and everything else a run needs to go on, in MindSpore's checkpoint files, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor

from hccl_kit.errors import KitError

_STEP, _BEST, _JOB, _ROWS = "hccl_kit.step", "hccl_kit.best", "hccl_kit.job", "hccl_kit.rows"


class DamagedError(KitError):
    """The file is there, but is no whole checkpoint."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: `step` steps are done, `best` is the best score so far (-1: none yet).

    `job` names what is trained, a SHA-256 in hexadecimal; empty where nobody has said.
    """

    step: int = 0
    best: float = -1.0
    job: str = ""


def save(
    path: Path, parameters: Iterable[Parameter], progress: Progress | None = None, *, previous: Path | None = None
) -> None:
    """Write the parameters, with a checksum, to `path`; the file before it stays until the new one is complete.

    It then becomes `previous`, where that is given.
    """
    rows = [{"name": parameter.name, "data": Tensor(parameter.asnumpy())} for parameter in parameters]
    if progress is not None:  # first: a file cut off between two rows carries no checksum, but lacks one of them
        rows = [*_rows_of(progress, len(rows)), *rows]
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.ckpt")
    try:
        ms.save_checkpoint(rows, str(temporary), crc_check=True)
        temporary.chmod(0o644)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        if previous is not None and path.exists():
            path.replace(previous)
        temporary.replace(path)
    except (OSError, RuntimeError) as error:
        raise KitError(f"cannot write the checkpoint {path}: {error}") from error
    finally:
        for left in (temporary, temporary.with_suffix(".tmp")):  # the second is what MindSpore itself writes first
            with suppress(OSError):  # such as: the folder is a file
                left.unlink()


def _rows_of(progress: Progress, count: int) -> list[dict[str, Any]]:
    values: dict[str, Any] = {_ROWS: np.int64(count), _STEP: np.int64(progress.step), _BEST: np.float64(progress.best)}
    if progress.job:
        values[_JOB] = np.frombuffer(bytes.fromhex(progress.job), np.uint8)
    return [{"name": name, "data": Tensor(value)} for name, value in values.items()]


def load(path: Path, parameters: Iterable[Parameter]) -> Progress:
    """Set the parameters from `path`, all or none, and return how far that run was.

    DamagedError where the file is not whole; KitError where it is not there or lacks a parameter.
    """
    rows, wanted = read(path), list(parameters)
    problems = []
    for parameter in wanted:
        row = rows.get(parameter.name)
        if row is None:
            problems.append(f"{parameter.name} is missing")
        elif row.shape != parameter.shape:
            problems.append(f"{parameter.name} is {row.shape}, the network has {parameter.shape}")
    if problems:
        shown = "\n       ".join(problems[:5] + ([f"and {len(problems) - 5} more"] if len(problems) > 5 else []))
        raise KitError(f"{path} does not fit this configuration:\n       {shown}")
    for parameter in wanted:
        parameter.set_data(Tensor(rows[parameter.name].asnumpy(), parameter.dtype))
    if _STEP not in rows:
        return Progress()
    job = rows[_JOB].asnumpy().tobytes().hex() if _JOB in rows else ""
    return Progress(int(rows[_STEP].asnumpy()), float(rows[_BEST].asnumpy()), job)


def read(path: Path) -> Mapping[str, Parameter]:
    """Everything in a checkpoint by name, also of one without checksum, as other programs write them.

    DamagedError where the file is not whole; KitError where it is not there.
    """
    if not path.is_file():
        raise KitError(f"there is no checkpoint {path}", hint="train first, or name a file that exists")
    try:
        rows: Mapping[str, Parameter] = ms.load_checkpoint(str(path), crc_check=True)
    except (ValueError, RuntimeError) as error:
        first = str(error).strip().split("\n")[0]
        raise DamagedError(f"the checkpoint {path} is damaged or not a checkpoint: {first}") from error
    present = sum(name not in (_ROWS, _STEP, _BEST, _JOB) for name in rows)
    if _ROWS in rows and present != int(rows[_ROWS].asnumpy()):
        raise DamagedError(f"the checkpoint {path} is damaged or not a checkpoint: it is cut off")
    return rows
