"""A real Ray on the hosts of a lab, whose cards are a custom resource: a head without cards, and its workers.

with cluster(2, cards=2) as ray:
    ray.start([ray.python, "-c", "import ray; ray.init()"])   # on the head, as KubeRay starts an entry point

Ray is imported by another Python if HCCL_KIT_TEST_RAY is the path of one. A worker has its own folder of files under
the path that it shares with the head, as in pods. Ray's processes run on the hosts, so they end with the lab.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.lab.hosts import Hosts, hosts
from tests.launch.jobs import clean_environ

PYTHON = os.environ.get("HCCL_KIT_TEST_RAY") or sys.executable
PORT = 6379
PATIENCE = 120.0
"""Seconds until a Ray node has started."""
MEMORY = 80 << 20
"""Bytes of a node's object store; Ray requires at least 75 MiB."""


@dataclass(frozen=True)
class Cluster:
    """A running Ray: the head is host 0 of the lab, the workers are the following hosts."""

    lab: Hosts

    @property
    def python(self) -> str:
        return PYTHON

    @property
    def environ(self) -> dict[str, str]:
        """The environment of Ray and its jobs."""
        more = {"RAY_ADDRESS": f"{self.lab.addresses[0]}:{PORT}", "RAY_USAGE_STATS_ENABLED": "0"}
        return {name: value for name, value in clean_environ(more).items() if name != "PYTHONPATH"}

    def start(
        self, argv: Sequence[str | Path], environ: Mapping[str, str] | None = None, *, folder: Path | None = None
    ) -> subprocess.Popen[str]:
        """Start a program on the head."""
        return self.lab.start(0, argv, environ={**self.environ, **(environ or {})}, folder=folder)

    def processes(self, index: int) -> list[int]:
        """The processes of a host, without the sshd of the lab."""
        return [pid for pid in self.lab.processes(index) if "sshd" not in command_line(pid)]


def command_line(pid: int) -> str:
    """The words of a process, empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


@contextmanager
def cluster(workers: int, *, cards: int) -> Iterator[Cluster]:
    """A cluster whose workers have `cards` NPUs each; nothing of it is left at the end."""
    with hosts(workers + 1) as lab:
        ray = Cluster(lab)
        shared = lab.folder / "ray"
        shared.mkdir()
        _start_node(ray, 0, ["--head", f"--port={PORT}", "--include-dashboard=false", f"--temp-dir={shared}"])
        for index in range(1, workers + 1):
            own = lab.folder / f"ray_{index}"
            own.mkdir()
            # `ip netns exec` has created a mount namespace, in which the folder can be mounted over the other.
            mount: list[str | Path] = ["sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', own, shared]
            joining = [f"--address={lab.addresses[0]}:{PORT}", f"--resources={json.dumps({'NPU': cards})}"]
            _start_node(ray, index, joining, mount=mount)
        yield ray


def _start_node(ray: Cluster, index: int, options: Sequence[str], *, mount: Sequence[str | Path] = ()) -> None:
    """`ray start` on a host. Its daemons may keep its output open, so it is written to a file."""
    start: list[str | Path] = [Path(PYTHON).with_name("ray"), "start", f"--node-ip-address={ray.lab.addresses[index]}"]
    common = ["--num-cpus=1", "--disable-usage-stats", f"--object-store-memory={MEMORY}"]
    log = ray.lab.folder / f"ray_start_{index}.log"
    to_log: list[str | Path] = ["sh", "-c", 'exec "$@" >"$0" 2>&1', log]
    argv = ray.lab.inside(index, [*mount, *to_log, *start, *common, *options])
    done = subprocess.run(argv, check=False, env=ray.environ, stdin=subprocess.DEVNULL, timeout=PATIENCE)
    if done.returncode != 0:
        raise RuntimeError(f"ray start: exit code {done.returncode}\n{log.read_text()}")


def _has_ray() -> bool:
    if sys.executable == PYTHON:
        return find_spec("ray") is not None
    return subprocess.run([PYTHON, "-c", "import ray"], check=False, capture_output=True).returncode == 0


needs_ray = pytest.mark.skipif(
    not _has_ray(), reason="needs Ray: pip install -e '.[bench]', or HCCL_KIT_TEST_RAY=PYTHON"
)
