"""The queries to npu-smi and hccn_tool during one inspection: each runs once, and after a hang no more follow."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.discovery import driver_tool
from hccl_kit.discovery.driver_tool import NoAnswerError

TIMEOUTS: Mapping[str, float] = {"npu-smi": 20.0}  # its main table queries every chip; several seconds on a busy server

Command = tuple[str, ...]


class Unanswered(NamedTuple):
    """A query (all words of the command) that a tool did not answer, and why."""

    command: Command
    reason: NoAnswerError


class Answered(NamedTuple):
    """A query that a tool answered, and how long that took in seconds."""

    command: Command
    output: str
    seconds: float


class ToolQueries:
    """What the tools answered so far. A `Node` holds one, so it lives as long as the inspection of that node."""

    def __init__(self) -> None:
        self._answers: dict[Command, Answered] = {}
        # By tool, or by hccn_tool and card: the driver may hang for one card only.
        self._unanswered: dict[Command, Unanswered] = {}

    def query(self, tool: str, *words: str) -> str:
        """The output of `tool` with the arguments `words`. Raises NoAnswerError if there is none, now or earlier."""
        command, subject = (tool, *words), _subject(tool, words)
        if command not in self._answers:
            if subject in self._unanswered:
                reason = self._unanswered[subject].reason
                raise type(reason)(*reason.args)
            started = time.monotonic()
            try:
                output = driver_tool.query(command, TIMEOUTS.get(Path(tool).name, driver_tool.TIMEOUT))
            except NoAnswerError as reason:
                self._unanswered[subject] = Unanswered(command, reason)
                raise
            self._answers[command] = Answered(command, output, time.monotonic() - started)
        return self._answers[command].output

    def failure(self, tool: str, *words: str) -> NoAnswerError | None:
        """Why `tool`, or the card that `words` name, did not answer; None if it answered everything so far."""
        failed = self._unanswered.get((tool, *words))
        return failed.reason if failed else None

    def answered(self) -> Sequence[Answered]:
        """All queries that were answered."""
        return tuple(self._answers.values())

    def unanswered(self) -> Sequence[Unanswered]:
        """The first query that each tool, or each card, did not answer; later ones were not run."""
        return tuple(self._unanswered.values())


def _subject(tool: str, words: Sequence[str]) -> Command:
    return (tool, *words[:2]) if words[0] == "-i" else (tool,)
