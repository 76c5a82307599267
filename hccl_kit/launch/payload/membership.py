"""Which servers a job has, and which spare takes the place of one that is lost. Part of programs that launch scripts
contain.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.kit_program import kit_command
from hccl_kit.launch.payload.messages import printable
from hccl_kit.launch.payload.ssh_command import Node
from hccl_kit.launch.payload.substitute import MisfitError, new_table, save_table

CHECK_TIMEOUT = 60
"""Seconds that hccl-kit may take to check the new table."""
REFUSED = 1
"""The exit code of hccl-kit check for a table with errors."""


class NoSpareError(Exception):
    """A job cannot go on; the message says why."""


class Spare(NamedTuple):
    """A spare server, and its entry in a server list."""

    node: Node
    entry: str


class Membership:
    """The servers of a job in the order of the table, and the spares that are left.

    `table` is the rank table that the job started with, `folder` where new ones are written. `options` are what the
    launch script needs to make the same table: which spares were taken, and the digest of the result.
    """

    def __init__(self, nodes: Sequence[Node], spares: Sequence[Spare], table: Path, folder: Path) -> None:
        self.nodes, self.spares, self.table, self.folder = tuple(nodes), list(spares), table, folder
        self.taken: list[tuple[str, Spare]] = []
        self.sha256 = ""

    @property
    def options(self) -> list[str]:
        """For the launch script on every server."""
        pairs = [word for lost, spare in self.taken for word in ("--replace", f"{lost}={spare.node.name}")]
        return [*pairs, "--table-sha256", self.sha256] if pairs else []

    async def replace(self, lost: Collection[Node], signaled: asyncio.Event) -> list[str]:
        """Take a spare for each of these servers; returns a line about each. Raises NoSpareError, and nothing changes.

        The new table is checked with hccl-kit if it is there; the rules accepted all of them when the script was made.
        """
        nodes, spares, taken, lines = list(self.nodes), list(self.spares), list(self.taken), []
        for place, node in enumerate(self.nodes):
            if node in lost:
                if not spares:
                    raise NoSpareError(f"no spare is left for server {node.name}")
                spare = spares.pop(0)
                taken.append((node.name, spare))
                nodes[place] = spare.node
                left = ", ".join(one.node.name for one in spares) or "none"
                lines.append(f"spare {spare.node.name} takes the place of server {node.name}; left: {left}")
        try:
            text = self.table.read_text(encoding="utf-8")
            made = new_table(text, self.table, self.folder, [(name, spare.entry) for name, spare in taken])
        except MisfitError as why:
            raise NoSpareError(str(why)) from why
        except OSError as error:
            raise NoSpareError(f"cannot read {self.table}: {error.strerror}") from error
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise NoSpareError(f"{self.table} has changed since the job started") from error
        try:
            save_table(made)
        except OSError as error:
            raise NoSpareError(f"cannot write the new table to {self.folder}: {error.strerror}") from error
        if refusal := await refusal_of(made.path, signaled):
            raise NoSpareError(f"hccl-kit check refuses {made.path}: {refusal}")
        self.nodes, self.spares, self.taken, self.sha256 = tuple(nodes), spares, taken, made.sha256
        return lines


async def refusal_of(table: Path, signaled: asyncio.Event) -> str | None:
    """The first line of `hccl-kit check` about a table with errors; None without errors, or without the kit.

    None too if the kit does not answer in time, or a signal comes; then it is ended with what it has started.
    """
    command = [*kit_command(), "check", "--quiet", "--format", "text", str(table)]
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, start_new_session=True
        )
    except OSError:
        return None
    answer, ending = asyncio.ensure_future(process.communicate()), asyncio.ensure_future(signaled.wait())
    await asyncio.wait({answer, ending}, timeout=CHECK_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
    ending.cancel()
    if not answer.done():
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.wait({answer}, timeout=1.0)
        answer.cancel()
        return None
    # A Python without the kit has the same exit code, and prints nothing.
    found = answer.result()[0].split(b"\n")[0]
    return printable(found, 300) if process.returncode == REFUSED and found else None
