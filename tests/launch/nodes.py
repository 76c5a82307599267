"""Jobs of several servers, which `hccl-kit run` starts over ssh: on hosts of a lab, or with a fake ssh on this one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hccl_kit.table import formats
from hccl_kit.table.model import Device, RankTable, Server
from tests.lab.hosts import Hosts
from tests.launch.jobs import TABLE, clean_environ, command_lines
from tests.launch.ways import fake
from tests.places import ROOT

RANKS = 2
"""Ranks per server."""
IDS = ("10.9.8.1", "10.9.8.2")
SSH = """
while [[ $1 == -?* && $1 != -- ]]; do case $1 in -o | -F) shift 2 ;; *) shift ;; esac; done
[[ $1 == -- ]] || exit 255
address=$2
down() { echo "ssh: connect to host $address port 22: No route to host" >&2; exit 255; }
[[ ! -e ${0%/*}/down_$address ]] || down
echo "$address $3" >>"${0%/*}/commands"
env -i HOME=/ SERVER_ADDRESS="$address" bash -c "$3" <&0 &
while kill -0 $! 2>/dev/null; do
    [[ ! -e ${0%/*}/down_$address ]] || { kill -KILL $(pgrep -P $!) $!; down; }
    sleep 0.05
done
wait $!
"""
"""A fake ssh, with which every server is this host; if there is a file down_ADDRESS, the server is lost."""
FAST = """
import hccl_kit.launch.servers.job as job
from hccl_kit.__main__ import main

job.FENCE = 0.3
raise SystemExit(main())
"""


def _address(rank: int) -> str:
    return f"192.0.{2 + rank // 250}.{rank % 250 + 1}"


def table_of(ids: Sequence[str]) -> RankTable:
    """Ranks 0 and 1 on devices 0 and 1 of the first server, and so on."""
    servers = tuple(
        Server(
            id=name,
            devices=tuple(
                Device(id=device, ip=_address(number * RANKS + device), rank=number * RANKS + device)
                for device in range(RANKS)
            ),
        )
        for number, name in enumerate(ids)
    )
    return RankTable(version="1.0", status="completed", servers=servers)


@dataclass(frozen=True)
class NodesJob:
    """A table in `folder`, which every process of the job has in its command line; `lab` None: a fake ssh."""

    folder: Path
    command: tuple[str, ...]
    lab: Hosts | None = None
    program: tuple[str, ...] = ("-c", FAST)

    @property
    def logs(self) -> Path:
        """The log folder of the last run."""
        return (self.folder / "hccl_logs" / "latest").resolve()

    def log(self, rank: int, restart: int = 0) -> str:
        folder = self.logs / f"restart_{restart}" if restart else self.logs
        return (folder / f"rank_{rank}.log").read_text(encoding="utf-8")

    def words(self, *arguments: str) -> list[str]:
        """The command of the starter."""
        run = [sys.executable, *self.program, "run", TABLE, "--ssh", *arguments]
        return [*run, "--", *self.command]

    def environ(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        ssh = f"ssh -F {self.lab.ssh_config}" if self.lab else str(fake(self.folder, "ssh", SSH))
        return clean_environ(
            {
                "PYTHONPATH": str(ROOT),
                "PWD": str(self.folder),
                "HCCL_KIT_SSH": ssh,
                "HCCL_KIT_DIAGNOSE": "0",
                **(more or {}),
            }
        )

    def start(
        self,
        *arguments: str,
        environ: Mapping[str, str] | None = None,
        node: int | None = None,
        stderr: int = subprocess.PIPE,
    ) -> subprocess.Popen[str]:
        """Start the job here, or from a host of the lab."""
        words = self.words(*arguments)
        if node is not None:
            assert self.lab
            return self.lab.start(node, words, environ=self.environ(environ), folder=self.folder, stderr=stderr)
        return subprocess.Popen(
            words,
            cwd=self.folder,
            env=self.environ(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )

    def all_say(self, word: str, ranks: int = 4) -> bool:
        logs = [*self.folder.glob("hccl_logs/latest/rank_*.log")]
        return len(logs) == ranks and all(f"{word}\n" in log.read_text() for log in logs)

    def lose(self, address: str) -> None:
        """Disconnect a server of the fake ssh, and kill its agent."""
        (self.folder / "bin").mkdir(exist_ok=True)
        (self.folder / "bin" / f"down_{address}").touch()

    def processes(self) -> list[str]:
        """The command lines of the remaining processes of the job."""
        return [line[-200:] for _, line in command_lines() if str(self.folder) in line]


def make_nodes_job(
    folder: Path, command: Sequence[str], *, lab: Hosts | None = None, ids: Sequence[str] = ()
) -> NodesJob:
    table = table_of(ids or (lab.addresses if lab else IDS))
    (folder / TABLE).write_text(formats.write(table), encoding="utf-8")
    return NodesJob(folder, tuple(command), lab)


def python_nodes_job(folder: Path, program: str, *, lab: Hosts | None = None, ids: Sequence[str] = ()) -> NodesJob:
    """A job whose ranks run `program`, with `rank` and a few modules predefined."""
    path = folder / "program.py"
    path.write_text(
        "import json, os, signal, socket, subprocess, sys, time\n"
        f"rank = int(os.environ['RANK'])\nrestart = int(os.environ.get('HCCL_KIT_RESTART', 0))\n{program}\n",
        encoding="utf-8",
    )
    return make_nodes_job(folder, (sys.executable, "-u", str(path)), lab=lab, ids=ids)
