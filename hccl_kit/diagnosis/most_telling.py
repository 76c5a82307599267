"""The most telling line of several logs, for a job whose logs do not show which rank failed first."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence, Set
from contextlib import suppress
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.errors.answers import Answer, tells_more, weight
from hccl_kit.diagnosis.facts import Noted
from hccl_kit.diagnosis.known_lines import Explanation, explain_lines
from hccl_kit.diagnosis.log_reading import lines_of, open_log
from hccl_kit.diagnosis.logs.faults import stated_by
from hccl_kit.diagnosis.logs.origins import named
from hccl_kit.diagnosis.logs.sources import listing

MAX_FILES = 16
"""Files that are searched."""
END = 1 << 19
"""Bytes at the end of each that are searched, where a process writes why it ends; this takes 0.2 s."""
_ROLES = ("cause", "pointer", "symptom", "result")
"""Of these, a line says what went wrong."""
MAX_HEAD = 100
_IS_NO_ERROR = re.compile(r"\b(?:DEBUG|INFO|WARN(?:ING)?)\b|^\W?[DIVW] ?[0-9 ]")
"""What is near the start of a line of a lower level."""


class Telling(NamedTuple):
    """What a log says. `is_only`: what else these logs say tells less."""

    file: Path
    explanation: Explanation
    is_only: bool = True

    @property
    def answer(self) -> Answer:
        """What its most telling line says."""
        return self.explanation.answers[0]

    @property
    def root_error(self) -> Noted | None:
        """The only root error of the logs; None if there are several, if its line is only a warning, or was judged."""
        line, row = self.answer.text, self.answer.row
        if not self.is_only or row.role != "cause" or row.in_output or _IS_NO_ERROR.search(line[:MAX_HEAD]):
            return None
        origin = named(line)
        fact = stated_by("PROGRAM", self.answer, line)
        return fact and Noted(self.answer.line or 1, fact, None, True, origin.pid, origin.rank, origin.server)


def most_telling(paths: Sequence[Path], of_run: Set[str] | None = None) -> Telling | None:
    """The explanation of the most telling line in files and folders; None if no line is known, or only facts.

    `of_run`: the files that may be searched, None for all. Only the ends of the first 16 are, and no archives. Raises
    KitError if a path is not there.
    """
    best: Telling | None = None
    equals: set[str] = set()
    files = (given for given in listing(paths).files if of_run is None or str(given.path) in of_run)
    for given in islice(files, MAX_FILES):
        with suppress(KitError, OSError), open_log(given.path) as stream:
            above = _skip_to_end(stream)
            explanation = explain_lines(lines_of(stream), above)
            if explanation is None or not explanation.answers or explanation.answers[0].row.role not in _ROLES:
                continue
            answer = explanation.answers[0]
            if best is None or weight(answer) < weight(best.answer):
                equals = {*explanation.equals}
            elif weight(answer) == weight(best.answer):
                equals |= explanation.equals
            if best is None or tells_more(answer, best.answer):
                best = Telling(given.path, explanation)
    return best and best._replace(is_only=len(equals) == 1)


def _skip_to_end(stream: BufferedReader) -> int:
    """Read up to the end of a log that is searched; returns the number of lines above it, which may be millions."""
    above = os.fstat(stream.fileno()).st_size - END
    count = 0
    while above > 0 and (piece := stream.read(min(above, END))):
        above -= len(piece)
        count += piece.count(b"\n")
    return count
