"""The most telling line of several logs, for a job whose logs do not show which rank failed first."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.log_reading import MAX_BYTES, explain_log, open_log
from hccl_kit.diagnosis.logs.sources import listing
from hccl_kit.diagnosis.lookup import Explanation, tells_more

MAX_FILES = 64
"""Files that are searched."""
_ROLES = ("cause", "pointer", "symptom", "result")
"""Of these, a line says what went wrong."""


class Telling(NamedTuple):
    """What a log says."""

    file: Path
    explanation: Explanation


def most_telling(paths: Sequence[Path]) -> Telling | None:
    """The explanation of the most telling line in files and folders; None if no line is known, or only facts.

    Archives are not searched, nor what is beyond the first 64 files or 64 MiB. Raises KitError if a path is not there.
    """
    best: Telling | None = None
    left = MAX_BYTES
    for given in listing(paths).files[:MAX_FILES]:
        left -= given.size
        if left < 0:
            break
        with suppress(KitError, OSError), open_log(given.path) as stream:
            explanation = explain_log(stream, str(given.path))
            if not explanation.answers or explanation.answers[0].row.role not in _ROLES:
                continue
            if best is None or tells_more(explanation.answers[0], best.explanation.answers[0]):
                best = Telling(given.path, explanation)
    return best
