"""Which servers a job has, and which spare takes the place of one that is lost. Part of programs that launch scripts
contain.
"""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.launch.payload.diagnose_logs import kit_command
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

    def replace(self, lost: Collection[Node]) -> list[str]:
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
            pairs = [(name, spare.entry) for name, spare in taken]
            made = new_table(self.table.read_text(encoding="utf-8"), self.table, self.folder, pairs)
            save_table(made)
        except MisfitError as why:
            raise NoSpareError(str(why)) from why
        except OSError as error:
            raise NoSpareError(f"cannot write the new table to {self.folder}: {error.strerror}") from error
        if refusal := refusal_of(made.path):
            raise NoSpareError(f"hccl-kit check refuses {made.path}: {refusal}")
        self.nodes, self.spares, self.taken, self.sha256 = tuple(nodes), spares, taken, made.sha256
        return lines


def refusal_of(table: Path) -> str | None:
    """The first line of `hccl-kit check` about a table with errors; None without errors, or without the kit."""
    try:
        done = subprocess.run(
            [*kit_command(), "check", "--quiet", "--format", "text", str(table)],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=CHECK_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # A Python without the kit has the same exit code, and prints nothing.
    found = done.stdout.split(b"\n")[0]
    return printable(found, 300) if done.returncode == REFUSED and found else None
