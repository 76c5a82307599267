"""A private Slurm on this machine: munged, slurmctld and a slurmd for each node, with separate key and ports.

with cluster() as slurm:
    slurm.run(["srun", "-N", "2", "hostname"])          # as on a cluster; the nodes are n1 and n2

The nodes have their own host names, which all resolve, and share everything else with this machine, addresses
included. Every process of a cluster has its folder in its command line or environment, so none outlives it; what
a killed run has left is removed by the next one.
"""

from __future__ import annotations

import getpass
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.launch.jobs import clean_environ
from tests.ports import free_port
from tests.waiting import PATIENCE

PREFIX = "hkslurm"
CPUS = 8
"""CPUs that a node declares; processes are not bound to them."""
SBIN = ":/usr/sbin:/usr/local/sbin:/sbin"

CONF = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=10
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
ReturnToService=2
KillWait=5
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0{backfill}
FirstJobId={first_job}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
TmpFS={folder}/tmp/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
GresTypes=npu
NodeName=n[1-{nodes}] NodeAddr=127.0.0.1 Port=[{node_ports}] CPUs={cpus} Gres=npu:8 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(frozen=True)
class Cluster:
    """A running Slurm; `folder` holds its configuration, keys and logs."""

    folder: Path
    nodes: tuple[str, ...]

    @property
    def environ(self) -> dict[str, str]:
        """The environment of a user of the cluster."""
        return clean_environ({"SLURM_CONF": str(self.folder / "slurm.conf")})

    def start(
        self, argv: Sequence[str | Path], *, folder: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start `argv` as a user of the cluster."""
        return subprocess.Popen(
            [*map(str, argv)],
            cwd=folder or self.folder,
            env={**self.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        folder: Path | None = None,
        environ: Mapping[str, str] | None = None,
        seconds: float = PATIENCE,
    ) -> subprocess.CompletedProcess[str]:
        """Run `argv` to its end; after `seconds`, it is killed and TimeoutExpired is raised."""
        process = self.start(argv, folder=folder, environ=environ)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def submit(
        self, argv: Sequence[str | Path], *, folder: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> str:
        """Run sbatch with `argv`; returns the job id."""
        done = self.run(["sbatch", "--parsable", *argv], folder=folder, environ=environ)
        if done.returncode != 0:
            raise RuntimeError(f"sbatch: {done.stderr}")
        return done.stdout.strip()

    def about(self, job: str) -> dict[str, str]:
        """The fields of a job in scontrol, such as JobState and ExitCode."""
        return dict(re.findall(r"(\w+)=(\S*)", self.run(["scontrol", "show", "job", "--oneliner", job]).stdout))

    def exit_code(self, job: str, seconds: float = PATIENCE) -> int:
        """Wait until a job has ended completely; returns the exit code of its script."""
        end = time.monotonic() + seconds
        while (found := self.about(job))["JobState"] in ("PENDING", "RUNNING", "COMPLETING") or self.jobs():
            if time.monotonic() > end:
                raise RuntimeError(f"job {job} is {found['JobState']} after {seconds} s, squeue shows {self.jobs()}")
            time.sleep(0.1)
        return int(found["ExitCode"].partition(":")[0])

    def jobs(self) -> list[str]:
        """The output of squeue: a line for every job that has not ended."""
        return self.run(["squeue", "-h"]).stdout.splitlines()

    def lose(self, node: str) -> None:
        """Kill all processes of a node, as when it loses its power."""
        for process in _on_node(self.folder, node):
            with suppress(ProcessLookupError):  # it ended meanwhile
                os.kill(process, signal.SIGKILL)

    def cut(self, node: str) -> None:
        """Stop the daemons of a node, through which all goes that its tasks read and write, as without its network."""
        for process in _on_node(self.folder, node):
            with suppress(OSError):  # it ended meanwhile
                if b"slurm" in Path(f"/proc/{process}/comm").read_bytes():
                    os.kill(process, signal.SIGSTOP)


@contextmanager
def cluster(topology: str | None = None, *, nodes: int = 2, starts_hetjobs: bool = False) -> Iterator[Cluster]:
    """A cluster whose nodes n1, n2, ... are idle; at the end its jobs, its daemons and its folder are removed.

    `topology` is the text of topology.conf. Heterogeneous jobs start after half a minute or, with `starts_hetjobs`, a
    second; then a job of this kind that is requeued does not start (seen with Slurm 22.05.8).
    """
    _sweep()
    names = tuple(f"n{number}" for number in range(1, nodes + 1))
    made = Cluster(Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")), names)
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        _write_files(made, ",bf_interval=1" if starts_hetjobs else "")
        if topology is not None:
            (made.folder / "topology.conf").write_text(topology)
            with (made.folder / "slurm.conf").open("a") as conf:
                conf.write("TopologyPlugin=topology/tree\n")
        daemons.append(_start(made, "munged", _munged(made.folder)))
        daemons.append(_start(made, "slurmctld", ["slurmctld", "-D"], host=_host()))
        daemons += [_start(made, node, ["slurmd", "-D", "-N", node], host=node) for node in made.nodes]
        _wait_until_idle(made, daemons)
        yield made
    finally:
        _tear_down(made.folder)
        for daemon in daemons:
            daemon.wait(PATIENCE)


def _munged(folder: Path) -> list[str]:
    files = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munge.pid", "seed-file": "munge.seed"}
    return ["munged", "--foreground", "--force", *(f"--{option}={folder / name}" for option, name in files.items())]


def _write_files(made: Cluster, backfill: str) -> None:
    folder = made.folder
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o600)
    for name in ("state", *(f"{part}/{node}" for part in ("spool", "tmp") for node in made.nodes)):
        (folder / name).mkdir(parents=True)
    (folder / "hosts").write_text(f"127.0.0.1 localhost {_host()}\n{_address()} {' '.join(made.nodes)}\n")
    (folder / "gres.conf").write_text("Name=npu Count=8\n")
    (folder / "slurm.conf").write_text(
        CONF.format(
            host=_host(),
            user=getpass.getuser(),
            folder=folder,
            port=free_port(),
            nodes=len(made.nodes),
            node_ports=",".join(str(free_port()) for _ in made.nodes),
            cpus=CPUS,
            backfill=backfill,
            first_job=1
            + os.getpid() * 10 % 1_000_000,  # ports are derived from job ids, so two clusters must not share any
        )
    )


def _host() -> str:
    return socket.gethostname().partition(".")[0]


def _address() -> str:
    """A non-loopback address of this machine, as nodes have one."""
    found = subprocess.run(["hostname", "-I"], check=True, capture_output=True, text=True).stdout.split()
    return next((address for address in found if ":" not in address), "127.0.0.1")


def _start(made: Cluster, name: str, command: Sequence[str], *, host: str | None = None) -> subprocess.Popen[bytes]:
    """Start a daemon; with `host`, on a host of this name that resolves the nodes."""
    program = shutil.which(command[0], path=os.environ.get("PATH", "") + SBIN) or command[0]
    call = [program, *command[1:]]
    if host:
        enter = 'mount --bind "$0" /etc/hosts && hostname "$1" && shift && exec "$@"'
        call = ["unshare", "--mount", "--uts", "sh", "-c", enter, str(made.folder / "hosts"), host, *call]
    with (made.folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            call,
            env=made.environ,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait_until_idle(made: Cluster, daemons: Sequence[subprocess.Popen[bytes]]) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        done = made.run(["sinfo", "-h", "-N", "-o", "%T"])
        if done.stdout.split() == ["idle"] * len(made.nodes):
            return
        if time.monotonic() > end or any(daemon.poll() is not None for daemon in daemons):
            logs = "".join(f"--- {path.name}\n{path.read_text()[-2000:]}" for path in made.folder.glob("*.log"))
            raise RuntimeError(f"the nodes are {done.stdout.split()}: {done.stderr}\n{logs}")
        time.sleep(0.1)


def _tear_down(folder: Path) -> None:
    """End every process of a cluster, including those of its jobs, and remove its folder."""
    end = time.monotonic() + PATIENCE
    while found := _processes(folder):
        if time.monotonic() > end:
            raise RuntimeError(f"processes {found} of {folder} outlive SIGKILL")
        for process in found:
            with suppress(ProcessLookupError):  # it ended meanwhile
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)


def _processes(folder: Path) -> list[int]:
    """Processes with the folder in the command line, or the configuration in the environment, except zombies."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile, or is another user's
            if any(os.fsencode(folder) + b"/" in (path / name).read_bytes() for name in ("cmdline", "environ")):
                found.append(int(path.name))
    return [process for process in found if process != os.getpid()]


def _on_node(folder: Path, node: str) -> list[int]:
    """The processes of a node, which share the host name of its slurmd."""
    daemon = int((folder / f"slurmd.{node}.pid").read_text())
    host = Path(f"/proc/{daemon}/ns/uts").readlink()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile
            if (path / "ns" / "uts").readlink() == host:
                found.append(int(path.name))
    return found


def _sweep() -> None:
    """Tear down the clusters whose processes have ended."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}[0-9]*-*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if not Path("/proc", owner).exists():
            _tear_down(folder)


def _missing() -> str | None:
    """The reason why no cluster can be created here."""
    programs = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client"}
    lacking = {
        program: package
        for program, package in programs.items()
        if not shutil.which(program, path=os.environ.get("PATH", "") + SBIN)
    }
    if lacking:
        return f"needs {', '.join(lacking)}: apt-get install {' '.join(lacking.values())}"
    if os.geteuid() != 0:
        return "needs root, to give the nodes names"
    probe = subprocess.run(["unshare", "--mount", "--uts", "true"], check=False, capture_output=True, text=True)
    if probe.returncode != 0:
        return f"needs namespaces, in a container CAP_SYS_ADMIN: {probe.stderr.strip()}"
    return None


_reason = _missing()
needs_slurm = pytest.mark.skipif(_reason is not None, reason=_reason or "")
"""Skips tests if no cluster can be created."""
