"""Checkpoint retention: which weights of a run are kept, the latest or those with the best scores.

The best weights and the resume checkpoints are kept in any case. An index in the folder lists the retained files, so
that a resumed run continues with them and no other file is ever removed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mindspore import Parameter

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.ocr.checkpoints import checkpoint
from hccl_kit.ocr.checkpoints.previous_run import KEPT

MAX_BYTES = 1 << 20


class Kept(NamedTuple):
    """A file of weights, the step it was written after and its score."""

    file: str
    step: int
    score: float


def save(folder: Path, parameters: Iterable[Parameter], result: tuple[int, float], *, policy: str, most: int) -> None:
    """Save the weights after step `result[0]` with score `result[1]` if they are among the `most` that `policy` keeps.

    `policy` is latest_k or top_k (of equal scores the later one). The new file is written before an old one is removed.
    """
    before = read(folder)
    latest = Kept(f"step_{result[0]}.ckpt", *result)
    rows = [row for row in before if row.step < latest.step]  # a resumed run repeats the others
    chosen = sorted([*rows, latest], key=lambda row: (row.score if policy == "top_k" else 0.0, row.step))[-most:]
    if latest in chosen:
        checkpoint.save(folder / latest.file, parameters)
    write_atomically(folder / KEPT, json.dumps([row._asdict() for row in chosen], indent=1) + "\n")
    for name in {row.file for row in before} - {row.file for row in chosen}:
        with suppress(OSError):  # gone already
            (folder / name).unlink()


def read(folder: Path) -> list[Kept]:
    """The retained files in `folder`; empty without an index. Raises KitError if the index cannot be read."""
    path = folder / KEPT
    if not path.exists():
        return []
    try:
        rows = [
            Kept(str(row["file"]), int(row["step"]), float(row["score"]))
            for row in json.loads(read_text(path, MAX_BYTES))
        ]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise KitError(
            "ocr.retention.damaged",
            "{path} is damaged: {reason}",
            fix="remove it; the files that it lists stay",
            path=path,
            reason=error,
        ) from error
    if any(row.file != f"step_{row.step}.ckpt" or row.step < 0 or not math.isfinite(row.score) for row in rows):
        raise KitError(
            "ocr.retention.lists-files-run", "{path} lists files that a run does not write", fix="remove it", path=path
        )
    return rows
