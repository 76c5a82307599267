"""Jobs of several servers: one script and one table, started on the hosts of a lab."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hccl_kit.launch.emitters import bash
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.table import formats
from hccl_kit.table.model import Device, RankTable, Server
from tests.lab.hosts import Hosts
from tests.launch.jobs import SCRIPT, TABLE, clean_environ
from tests.launch.ways import write_secret

RANKS = 2
"""Ranks per server."""


def table_of(ids: Sequence[str]) -> RankTable:
    """Ranks 0 and 1 on devices 0 and 1 of the first server, and so on."""
    servers = tuple(
        Server(
            id=name,
            devices=tuple(
                Device(id=device, ip=f"192.0.2.{number * RANKS + device + 1}", rank=number * RANKS + device)
                for device in range(RANKS)
            ),
        )
        for number, name in enumerate(ids)
    )
    return RankTable(version="1.0", status="completed", servers=servers)


@dataclass(frozen=True)
class NodesJob:
    """A script and its table in `folder`, which every process of the job has in its command line."""

    folder: Path
    lab: Hosts

    @property
    def script(self) -> Path:
        return self.folder / SCRIPT

    @property
    def logs(self) -> Path:
        """The log folder of the last run."""
        return (self.folder / "hccl_logs" / "latest").resolve()

    def log(self, rank: int) -> str:
        return (self.logs / f"rank_{rank}.log").read_text(encoding="utf-8")

    def start(
        self, node: int, *arguments: str | Path, environ: Mapping[str, str] | None = None, stderr: int = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """Start the script on one host."""
        return self.lab.start(
            node,
            ["bash", self.script, *arguments],
            environ=clean_environ({"PWD": str(self.folder), **(environ or {})}),
            folder=self.folder,
            stderr=stderr,
        )

    def processes(self) -> list[str]:
        """The command lines of the remaining processes of the job."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:  # it ended meanwhile
                continue
            if str(self.folder) in line:
                found.append(line[-200:])
        return found


def make_nodes_job(folder: Path, lab: Hosts, command: Sequence[str], *, ids: Sequence[str] = ()) -> NodesJob:
    table = table_of(ids or lab.addresses)
    text = formats.write(table)
    (folder / TABLE).write_text(text, encoding="utf-8")
    (folder / SCRIPT).write_text(bash.script(plan(table, command), TableFile(TABLE, text)), encoding="utf-8")
    write_secret(folder / SCRIPT)
    return NodesJob(folder, lab)


def python_nodes_job(folder: Path, lab: Hosts, program: str, *, ids: Sequence[str] = ()) -> NodesJob:
    """A job whose ranks run `program`, with `rank` and a few modules predefined."""
    path = folder / "program.py"
    path.write_text(
        "import json, os, signal, socket, subprocess, sys, time\n"
        f"rank = int(os.environ['RANK'])\nrestart = int(os.environ.get('HCCL_KIT_RESTART', 0))\n{program}\n",
        encoding="utf-8",
    )
    return make_nodes_job(folder, lab, (sys.executable, "-u", str(path)), ids=ids)
