"""What summary.json says of a finished training, without its paths."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hccl_kit.base.bounded_file import read_text
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message

SUMMARY = "summary.json"
MAX_BYTES = 1 << 20
MAX_TEXT = 100
"""Characters of a text that are shown."""
FACTS = ("steps", "world_size", "launcher", "device_target", "ranks_equal", "bad_samples", "config_sha256")
SCORES = ("word_accuracy", "exact", "norm_edit_distance", "accuracy", "f-score", "recall", "precision")


def described(folder: Path) -> dict[str, Any]:
    """The run in `folder`: its facts, the weights it started from by file name, its scores.

    `before`, `best` and `last` are the scores of the starting weights, of best.ckpt and of the last weights; the first
    two are there if the run has `system.val_before_train`. What is missing or not of its type is left out. Raises
    KitError if there is no summary, or the file is not one.
    """
    path = folder / SUMMARY
    try:
        summary = json.loads(read_text(path, MAX_BYTES))
    except KitError as error:
        hint = Message(
            "diagnosis.no-run", "name a rank table, or the folder of a training that has ended (train.ckpt_save_dir)"
        )
        raise KitError(error.message, hint=hint) from error
    except (ValueError, RecursionError):
        summary = None
    if not isinstance(summary, Mapping):
        raise KitError("diagnosis.no-summary", "{path} is not the summary of a training run", path=path)
    started = summary.get("started_from")
    named = started if isinstance(started, Mapping) else {}
    facts: dict[str, Any] = {name: value for name in FACTS if (value := _short(summary.get(name))) is not None}
    facts["started_from"] = {
        _short(key): text.rsplit("/", 1)[-1] for key, value in named.items() if isinstance(text := _short(value), str)
    }
    for name, row in (("before", summary.get("before")), ("best", summary.get("kept")), ("last", summary)):
        scores = _scores(row) if isinstance(row, Mapping) else {}
        if scores:
            facts[name] = scores
    guard = summary.get("guard")
    for name, of_set in guard.items() if isinstance(guard, Mapping) else ():
        for when, row in of_set.items() if isinstance(of_set, Mapping) else ():
            scores = _scores(row) if isinstance(row, Mapping) else {}
            if scores and when in ("before", "best"):
                score = scores.get("exact", next(iter(scores.values())))
                facts.setdefault("guard", {})[f"{name.rsplit('/', 1)[-1][-MAX_TEXT:]} {when}"] = score
    return facts


def _short(value: Any) -> str | int | None:
    """A text, its last characters if it is long, or a whole number."""
    return value[-MAX_TEXT:] if isinstance(value, str) else value if isinstance(value, int) else None


def _scores(row: Mapping[str, Any]) -> dict[str, float]:
    """The scores of a row, each from 0 to 1."""
    numbers = ((name, row.get(name)) for name in SCORES)
    return {name: round(value, 4) for name, value in numbers if isinstance(value, (int, float)) and 0 <= value <= 1}
