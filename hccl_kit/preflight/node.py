"""The subject of the rules HK6: this machine and its table, and the queries to npu-smi and hccn_tool.

Each query runs once, and after a hang no more follow.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.discovery import driver_tool
from hccl_kit.discovery.driver_tool import NoAnswerError
from hccl_kit.table.model import RankTable, Server
from hccl_kit.table.products import Product

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


ATLAS_950 = "2.0"
"""The version of the tables of Atlas 950. They name no hosts, and hccn_tool has other names for the ports of the cards,
which only the table has. HCCL reads the topology in the folder of the driver.
"""
NO_SERVER = Message("preflight.no-server", "this machine matches no server of the table")


class Node(NamedTuple):
    """This machine, and its server in the table.

    `server` is the table's server that is this machine, None if none is. `root` is the folder in which dev, etc,
    proc, sys and usr are looked for. Programs are found on PATH of `environ`, as a user's shell would find them;
    `tools` holds the answers of the driver's tools. `path` is where the table's file has to be on this machine, None
    if not known.
    """

    table: RankTable
    product: Product
    server: Server | None
    environ: Mapping[str, str]
    tools: ToolQueries
    root: Path = Path("/")
    path: Path | None = None

    @property
    def device_ids(self) -> tuple[int, ...]:
        """The physical ids of this server's cards, ascending; empty if the server is not known."""
        return tuple(sorted(device.id for device in self.server.devices)) if self.server else ()


class CannotTellError(KitError):
    """Raised by a check that has nothing to check on this node; its message is why, such as "no NPU here"."""
