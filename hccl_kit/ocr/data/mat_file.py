"""Variables of MATLAB files up to version 7, as scipy reads them, after a trial in a process with limits.

scipy expands what is compressed without a limit, and reads cells within cells by recursion in C: a hostile file takes
all memory, or crashes the process. What the trial has read, this process reads in the same way.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.base.limited_child import Limits, limited_program, why_ended
from hccl_kit.ocr.data.image_file import open_image
from hccl_kit.ocr.data.samples import BadSampleError, Sample
from hccl_kit.ocr.file_errors import cannot_read

LIMITS = Limits(memory=8 << 30, seconds=600, stack=1 << 20)
"""Of the trial: SynthText's words take about a quarter of the memory and half a minute. A thread has a larger stack
here, so that cells within cells end the trial first."""


class _DamagedError(Exception):
    """scipy cannot read the file within the limits."""


def read(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Those of the variables `names` that the file has and that are arrays: cells of type object, or structures.

    Raises KitError if the file is damaged, not a regular file, not a MATLAB file up to version 7, or too large.
    """
    try:
        with open_image(Sample(path)) as (file, _):
            _try(file, names)
            return _variables(file, names)
    except BadSampleError as error:
        raise cannot_read(path, error) from error
    except _DamagedError as error:
        raise KitError(
            "ocr.mat-file.damaged-not-matlab",
            "{path} is damaged or not a MATLAB file: {reason}",
            fix="get it again; a file of MATLAB 7.3 must be saved as version 7 (save -v7)",
            path=path,
            reason=error,
        ) from error
    except MemoryError as error:  # the trial had it
        raise cannot_read(path, MemoryError("this machine has no memory left for it")) from error


def rows(value: object) -> list[str] | None:
    """The rows of an array of characters; None for anything else, and for characters that could not be decoded."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "U" or value.ndim != 1:
        return None
    texts: list[str] = value.tolist()
    return None if any("\ufffd" in row for row in texts) else texts


def text(value: object) -> str | None:
    """An array of characters with one row; None for anything else."""
    texts = rows(value)
    return texts[0] if texts and len(texts) == 1 else None


def _variables(file: BinaryIO, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    from scipy.io import loadmat  # noqa: PLC0415 - heavy, and few data sets need it

    file.seek(126)
    order = "be" if file.read(2) == b"MI" else "le"  # scipy would cut characters of 16 bits to 8
    try:
        variables = loadmat(file, variable_names=list(names), uint16_codec=f"utf-16-{order}")
    except MemoryError:
        raise
    except Exception as error:  # damage may raise anything
        raise _DamagedError(f"{type(error).__name__}: {error}"[:200]) from error
    return {name: value for name, value in variables.items() if isinstance(value, np.ndarray)}


def _try(file: BinaryIO, names: Sequence[str]) -> None:
    """Read the variables in another process. Raises _DamagedError with the reason if it fails."""
    done = subprocess.run(
        limited_program(LIMITS, "hccl_kit.ocr.data.mat_file", str(LIMITS.memory), *names),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # each thread reserves address space
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    if done.returncode:
        suspected = ": cells within many cells?" if done.returncode == -signal.SIGSEGV else ""
        raise _DamagedError(done.stdout.strip() or why_ended(done.returncode, LIMITS) + suspected)


def _trial(memory: str, names: Sequence[str]) -> int:
    """Read the file on standard input; prints why that fails. Returns the exit code."""
    try:
        _variables(sys.stdin.buffer, names)
    except _DamagedError as error:
        sys.stdout.write(str(error))
        return 1
    except MemoryError:
        sys.stdout.write(f"reading it takes more than {memory} bytes of memory")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_trial(sys.argv[1], sys.argv[2:]))
