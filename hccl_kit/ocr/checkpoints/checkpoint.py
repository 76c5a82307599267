"""MindSpore checkpoint files with the weights and all other state of a run, written atomically.

A file of this package begins and ends with marker rows and has MindSpore's checksum: without the checksum it is
damaged. MindOCR's files have neither and are accepted unverified.
"""

from __future__ import annotations

import logging
import math
import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
from google.protobuf.message import DecodeError
from mindspore import Parameter, Tensor
from mindspore.train.checkpoint_pb2 import Checkpoint
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.temporary import beside
from hccl_kit.base.wording import shortened
from hccl_kit.ocr import interrupt
from hccl_kit.ocr.file_errors import cannot_read

OURS = "hccl_kit."
"""Prefix of the rows that are not parameters."""
_STEP, _BEST, _JOB, _ROWS, _END = (OURS + name for name in ("step", "best", "job", "rows", "end"))
_TRAILER, _TRAILER_BYTES = b"crc_num", 17
"""MindSpore ends a file with this word and the CRC-32 in ten bytes."""

_BYTES = {
    **dict.fromkeys(("Int8", "UInt8", "Bool"), 1),
    **dict.fromkeys(("Int16", "UInt16", "Float16", "BFloat16"), 2),
    **dict.fromkeys(("Int32", "UInt32", "Float32"), 4),
    **dict.fromkeys(("Int64", "UInt64", "Float64"), 8),
}
"""Bytes per value by MindSpore's type names; rows of other types are not checked."""


class DamagedError(KitError):
    """The file exists but is not a complete checkpoint."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: `step` steps are done, `best` is the best score so far (-1: none yet).

    `job` identifies configuration and number of ranks, a SHA-256 in hexadecimal; empty if unknown.
    """

    step: int = 0
    best: float = -1.0
    job: str = ""


def save(
    path: Path, parameters: Iterable[Parameter], progress: Progress | None = None, *, previous: Path | None = None
) -> None:
    """Write the parameters with a checksum to `path`; the old file stays until the new one is complete.

    With `previous` the old file is then renamed to it. Raises KitError if the file cannot be written.
    """
    weights = [{"name": parameter.name, "data": Tensor(parameter.asnumpy())} for parameter in parameters]
    # The number of rows is at both ends: a file truncated between two rows lacks one of them.
    rows = [*_rows_of(progress, len(weights)), *weights, *_rows({_END: np.int64(len(weights))})]
    temporary = beside(path.with_suffix(""), "ckpt")
    try:
        with interrupt.complete():
            ms.save_checkpoint(rows, str(temporary), crc_check=True)
            temporary.chmod(0o644 & ~_umask())  # MindSpore lets only the owner read it
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            if previous is not None and path.exists():
                path.replace(previous)
            temporary.replace(path)
    except (OSError, RuntimeError) as error:
        raise KitError(
            "ocr.checkpoint.cannot-write-checkpoint",
            "cannot write the checkpoint {path}: {reason}",
            path=path,
            reason=error,
        ) from error
    finally:
        for left in (temporary, temporary.with_suffix(".tmp")):  # the second is MindSpore's own temporary file
            with suppress(OSError):  # such as: the folder is a file
                left.unlink()


def _umask() -> int:
    """The permission bits that new files of this process do not get. Setting it is the only way to read it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _rows_of(progress: Progress | None, count: int) -> list[dict[str, Any]]:
    values: dict[str, Any] = {_ROWS: np.int64(count)}
    if progress is not None:
        values |= {_STEP: np.int64(progress.step), _BEST: np.float64(progress.best)}
        if progress.job:
            values[_JOB] = np.frombuffer(bytes.fromhex(progress.job), np.uint8)
    return _rows(values)


def _rows(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "data": Tensor(value)} for name, value in values.items()]


def load(
    path: Path, parameters: Iterable[Parameter], *, check: Callable[[Mapping[str, Parameter]], None] = lambda _: None
) -> Progress:
    """Set the parameters from `path`, all or none, and return the progress of its run.

    `check` gets all rows before, and may raise an error. Raises DamagedError if the file is not complete, and KitError
    if it is missing or lacks a parameter.
    """
    rows, wanted = read(path), list(parameters)
    check(rows)
    problems = []
    for parameter in wanted:
        row = rows.get(parameter.name)
        if row is None:
            problems.append(f"{parameter.name} is missing")
        elif row.shape != parameter.shape:
            problems.append(f"{parameter.name} is {row.shape}, the network has {parameter.shape}")
    if problems:
        shown = "\n       ".join(shortened(problems, 5))
        raise KitError(
            "ocr.checkpoint.not-fit-configuration",
            "{path} does not fit this configuration:\n       {shown}",
            path=path,
            shown=shown,
        )
    progress = _progress(path, rows)
    for parameter in wanted:
        parameter.set_data(Tensor(rows[parameter.name].asnumpy(), parameter.dtype))
    return progress


def _progress(path: Path, rows: Mapping[str, Parameter]) -> Progress:
    """The progress in the rows of a checkpoint. Raises DamagedError if it is one that no run has."""
    if _STEP not in rows:
        return Progress()
    step, best = _number(path, rows, _STEP), _number(path, rows, _BEST)
    job = rows[_JOB].asnumpy().tobytes().hex() if _JOB in rows else ""
    if step != int(step) or step < 0:
        raise _damaged(path, f"it is of step {step:g}; accepted: 0 or more")
    if len(job) not in (0, 64):
        raise _damaged(path, f"{_JOB} has {len(job) // 2} bytes, a SHA-256 has 32")
    return Progress(int(step), best, job)


def _number(path: Path, rows: Mapping[str, Parameter], name: str) -> float:
    """The finite number in a row of ours. Raises DamagedError if it holds anything else."""
    value = rows[name].asnumpy() if name in rows else np.zeros(0)
    if value.size != 1 or value.dtype.kind not in "iuf" or not np.isfinite(value).all():
        raise _damaged(path, f"{name} is not a number")
    return float(value.item())


def read(path: Path, *, say: Callable[[str], None] = lambda _: None) -> Mapping[str, Parameter]:
    """All rows of a checkpoint by name; `say` gets a note if the file has no checksum, as those of other programs.

    Raises DamagedError if the file is not complete, also for one of this package without checksum, and KitError if it
    is missing or holds numbers that are not finite.
    """
    if path.exists() and not path.is_file():
        raise KitError(
            "ocr.checkpoint.not-file",
            "{path} is not a file",
            fix="name a checkpoint, such as best.ckpt of a run",
            path=path,
        )
    if not path.is_file():
        raise KitError(
            "ocr.checkpoint.no-checkpoint",
            "there is no checkpoint {path}",
            fix="train first, or name a file that exists",
            path=path,
        )
    if path.suffix != ".ckpt":  # MindSpore reads no other, and the file may be complete
        raise KitError(
            "ocr.checkpoint.checkpoint-no-name",
            "the checkpoint {path} has no name that ends in .ckpt",
            fix="rename it if it is one, or name another file",
            path=path,
        )
    try:
        has_checksum = _has_checksum(path)
        if not has_checksum and _is_ours(path):  # before MindSpore reads it: damaged sizes may crash it
            raise _damaged(path, "its checksum is cut off")
        if not has_checksum:
            _assert_sizes(path)
        with _without_logs():
            rows: Mapping[str, Parameter] = ms.load_checkpoint(str(path), crc_check=True)
    except OSError as error:
        raise cannot_read(path, error) from error
    except (ValueError, RuntimeError) as error:
        raise _damaged(path, str(error).strip().split("\n")[0]) from error
    if not has_checksum:
        say(f"{path} has no checksum, so it cannot be verified")
    present = sum(name not in (_ROWS, _END, _STEP, _BEST, _JOB) for name in rows)
    if any(name in rows and present != _number(path, rows, name) for name in (_ROWS, _END)):
        raise _damaged(path, "it is cut off")
    assert_finite(path, {name: row.asnumpy() for name, row in rows.items() if not name.startswith(OURS)})
    return rows


@contextmanager
def _without_logs() -> Iterator[None]:
    """Suppress what MindSpore logs about damaged files and files without checksum: this package reports them once."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def assert_finite(path: Path, values: Mapping[str, NDArray[Any]]) -> None:
    """Raises KitError if a number of the network is not finite as float32."""
    for name, array in values.items():
        with np.errstate(over="ignore"):
            is_fine = array.dtype.kind != "f" or np.isfinite(array.astype(np.float32, copy=False)).all()
        if not is_fine:
            hint = Message("ocr.checkpoint.holds-numbers-not.fix", "take weights of a training that did not diverge")
            raise KitError(
                "ocr.checkpoint.holds-numbers-not",
                "{path}: {name} holds numbers that are not finite",
                hint=hint,
                path=path,
                name=name,
            )


def _has_checksum(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TRAILER_BYTES))
        return file.read().startswith(_TRAILER)


def _is_ours(path: Path) -> bool:
    """Whether the file has a marker row: a file damaged at one end still has the one at its other end."""
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(OURS.encode()) >= 0


def _assert_sizes(path: Path) -> None:
    """Raises DamagedError if a row does not have the size of its shape: MindSpore would pad it with zeros silently."""
    file = Checkpoint()
    try:
        file.ParseFromString(path.read_bytes())
    except DecodeError:
        return  # MindSpore reports it
    held: dict[str, int] = {}  # a large parameter has several rows, each with the whole shape
    wanted: dict[str, int] = {}
    for row in file.value:
        if row.tensor.tensor_type in _BYTES:
            count = 1 if list(row.tensor.dims) == [0] else math.prod(row.tensor.dims)
            wanted[row.tag] = count * _BYTES[row.tensor.tensor_type]
            held[row.tag] = held.get(row.tag, 0) + len(row.tensor.tensor_content)
    for name, size in wanted.items():
        if held[name] != size:
            raise _damaged(path, f"{name} has {held[name]} bytes, and {size} by its shape and type")


def _damaged(path: Path, why: str) -> DamagedError:
    return DamagedError(f"the checkpoint {path} is damaged or not a checkpoint: {why}")
