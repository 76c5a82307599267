"""Jobs under the real msrun: the environment of the ranks, the end of a job, and no processes left."""

import json
import os
import signal
import subprocess
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.launch.emitters import msrun
from hccl_kit.runtime.worker_env import PLOGS
from hccl_kit.table.model import RankTable
from tests.lab.hosts import hosts, needs_hosts
from tests.launch import jobs
from tests.launch.jobs import asked, clean_environ, fake_kit, guards
from tests.launch.ways import planned, servers, write, write_secret
from tests.places import ROOT
from tests.waiting import PATIENCE, wait_until

NOTE = f"""
import json, os, signal, socket, sys, time
sys.path.insert(0, {str(ROOT)!r})
if os.environ["MS_ROLE"] == "MS_SCHED":  # serves until the workers are gone
    time.sleep(0 if "ends" in sys.argv else 60)
    sys.exit()
from hccl_kit.runtime.detect import detect
found = detect(os.environ)
rank, visible = found.env.rank, os.environ.get("ASCEND_RT_VISIBLE_DEVICES")
card = int(visible.split(",")[found.env.device]) if visible else found.env.device
note = {{"host": socket.gethostname(), "card": card, "launcher": found.launcher, "argv": sys.argv[1:]}}
note |= {{"table": os.environ.get("RANK_TABLE_FILE"), "size": found.env.size}}
with open(f"FOLDER/rank_{{rank}}.part", "w") as file:
    json.dump(note, file)
os.rename(f"FOLDER/rank_{{rank}}.part", f"FOLDER/rank_{{rank}}.json")
"""
"""Records what hccl_kit.runtime detects in a rank."""
LONG = pytest.mark.long
"""Each start of msrun imports MindSpore."""

pytestmark = [
    pytest.mark.train,
    pytest.mark.skipif(not find_spec("mindspore"), reason="needs msrun: install the extra train"),
]


class Job:
    """A script in `folder`, which every process of the job has in its command line."""

    def __init__(self, folder: Path, table: RankTable, program: str) -> None:
        path = folder / "program.py"
        path.write_text(NOTE.replace("FOLDER", str(folder)) + program, encoding="utf-8")
        self.folder = folder
        self.plan, file = planned(table, "python", "-u", str(path))
        self.script = write(folder, msrun.emit(self.plan, file))
        write_secret(self.script)
        self.environ = clean_environ({"RANK_TABLE_FILE": "/left/over.json"})

    @property
    def notes(self) -> list[dict[str, Any]]:
        return [json.loads((self.folder / f"rank_{rank}.json").read_text()) for rank in range(self.plan.size)]

    def start(self, *arguments: str, stderr: int = subprocess.PIPE) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["bash", self.script, *arguments],
            cwd=self.folder,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )

    def all_run(self) -> bool:
        return len(list(self.folder.glob("rank_*.json"))) == self.plan.size

    def left(self) -> list[str]:
        return jobs.Job(self.folder, self.plan).processes()


def test_ranks_run_on_the_cards_of_the_table(tmp_path: Path) -> None:
    job = Job(tmp_path, servers((4, 5)), "print('this is', rank)")
    words = ["ends", "--", ":", "", "a'; echo foo", '"$(id)"', "a\nb", "训练"]
    out, err = job.start(*words).communicate(timeout=PATIENCE)
    assert err == ""
    assert out.splitlines()[1:] == ["this is 0"]
    for rank, note in enumerate(job.notes):
        assert (note["launcher"], note["size"], note["table"]) == ("msrun", 2, None)
        assert (note["card"], note["argv"]) == (4 + rank, words)
    assert job.left() == []


@pytest.mark.parametrize(
    ("end", "code"), [("sys.exit(7)", 7), pytest.param("os.kill(os.getpid(), signal.SIGKILL)", 137, marks=LONG)]
)
def test_a_rank_that_fails_ends_the_job_at_once(end: str, code: int, tmp_path: Path) -> None:
    job = Job(tmp_path, servers(range(2)), f"if rank == 1: {end}\ntime.sleep(600)")
    process = job.start()
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert "error: rank 1 on device 1 of " in err
    assert job.left() == []


def test_plogs_are_written_to_the_run_folder_and_a_failure_is_diagnosed(tmp_path: Path) -> None:
    printed = tmp_path / "printed"
    first = f"print(os.environ[{PLOGS!r}], flush=True)\nif rank == 0: open({str(printed)!r}, 'w').close()\n"
    second = f"while not os.path.exists({str(printed)!r}): time.sleep(0.05)\nif rank == 1: sys.exit(7)\ntime.sleep(600)"
    job = Job(tmp_path, servers(range(2)), first + second)
    job.environ = fake_kit(tmp_path, "echo seen")
    process = job.start()
    out, err = process.communicate(timeout=PATIENCE)
    run = out.splitlines()[0].partition(", logs in ")[2]
    assert (process.returncode, out.splitlines()[1]) == (7, f"{run}/plog/192.0.2.1")
    assert asked(tmp_path) == f"diagnose {run}\n"
    assert err.endswith("\n\nseen\n")


def test_the_error_of_the_failed_rank_is_printed_once(tmp_path: Path) -> None:
    job = Job(tmp_path, servers(range(2)), "if rank == 0: sys.exit('the reason')\ntime.sleep(600)")
    screen, _ = job.start(stderr=subprocess.STDOUT).communicate(timeout=PATIENCE)
    assert screen.count("the reason") == 1
    assert "error: rank 0 on device 0 of " in screen
    assert job.left() == []


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), pytest.param("SIGTERM", 143, marks=LONG), ("SIGKILL", -9)])
def test_no_process_outlives_the_script(name: str, code: int, tmp_path: Path) -> None:
    deaf = "for name in ('SIGTERM', 'SIGINT'): signal.signal(getattr(signal, name), signal.SIG_IGN)\n"
    job = Job(tmp_path, servers(range(2)), f"{deaf}time.sleep(600)")
    process = job.start()
    assert wait_until(job.all_run)
    process.send_signal(signal.Signals[name])
    process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert wait_until(lambda: job.left() == [])


@pytest.mark.parametrize(("also_script", "code"), [(False, 137), pytest.param(True, -9, marks=LONG)])
def test_no_process_outlives_the_guard(also_script: bool, code: int, tmp_path: Path) -> None:
    deaf = "for name in ('SIGTERM', 'SIGINT'): signal.signal(getattr(signal, name), signal.SIG_IGN)\n"
    job = Job(tmp_path, servers(range(2)), f"{deaf}time.sleep(600)")
    process = job.start()
    assert wait_until(job.all_run)
    (guard,) = guards(tmp_path)
    process.send_signal(signal.SIGSTOP)  # it has not checked yet
    os.kill(guard, signal.SIGKILL)
    if also_script:
        process.kill()
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert also_script or err.startswith("\nerror: the guard process was killed; the job ended")
    assert wait_until(lambda: job.left() == [])


def test_no_process_outlives_the_script_after_its_guard_was_stopped(tmp_path: Path) -> None:
    job = Job(tmp_path, servers(range(2)), "time.sleep(600)")
    process = job.start()
    assert wait_until(job.all_run)
    (guard,) = guards(tmp_path)
    os.kill(guard, signal.SIGSTOP)
    process.kill()
    try:
        process.communicate(timeout=PATIENCE)
        assert wait_until(lambda: job.left() == [])
    finally:
        with suppress(ProcessLookupError):
            os.kill(guard, signal.SIGCONT)


@needs_hosts
def test_ranks_run_on_two_hosts(tmp_path: Path) -> None:
    with hosts(2) as lab:
        job = Job(tmp_path, servers((0, 1), (4, 5), ids=lab.addresses), "")
        started = [lab.start(i, ["bash", job.script, "ends"], environ=job.environ, folder=tmp_path) for i in range(2)]
        for process in started:
            _, err = process.communicate(timeout=PATIENCE)
            assert (process.returncode, err) == (0, "")
        assert [(note["host"], note["card"]) for note in job.notes] == [
            *((lab.names[0], 0), (lab.names[0], 1)),
            *((lab.names[1], 4), (lab.names[1], 5)),
        ]
        assert [len(lab.processes(i)) for i in range(2)] == [1, 1]  # their sshds


@needs_hosts
@pytest.mark.parametrize(
    ("failing", "end", "code"),
    [pytest.param(0, "sys.exit(7)", 7, marks=LONG), (3, "os.kill(os.getpid(), signal.SIGKILL)", 137)],
)
def test_a_rank_that_fails_ends_the_job_on_both_hosts(failing: int, end: str, code: int, tmp_path: Path) -> None:
    fail = f"if rank == {failing}: time.sleep(0.5); {end}\ntime.sleep(600)"
    with hosts(2) as lab:
        job = Job(tmp_path, servers((0, 1), (4, 5), ids=lab.addresses), fail)
        started = [lab.start(i, ["bash", job.script], environ=job.environ, folder=tmp_path) for i in range(2)]
        home, other = failing // 2, 1 - failing // 2
        _, err = started[other].communicate(timeout=PATIENCE)
        _, at_home = started[home].communicate(timeout=PATIENCE)
        assert (started[home].returncode, started[other].returncode) == (code, code)
        assert f"error: rank {failing} on device {(0, 1, 4, 5)[failing]} of {lab.names[home]} failed" in at_home
        server = lab.addresses[home]
        assert err == f"\nended: rank {failing} on server {server} failed with exit code {code}; its log is there\n"
        assert job.left() == []  # no guard is left either: the watch ends before the guard does


@needs_hosts
def test_a_script_killed_on_one_host_ends_the_job_on_the_other(tmp_path: Path) -> None:
    with hosts(2) as lab:
        job = Job(tmp_path, servers((0,), (0,), ids=lab.addresses), "time.sleep(600)")
        started = [lab.start(i, ["bash", job.script], environ=job.environ, folder=tmp_path) for i in range(2)]
        assert wait_until(job.all_run)
        started[1].kill()
        _, err = started[0].communicate(timeout=PATIENCE)
        assert started[0].returncode == 255
        assert f"ended: server {lab.addresses[1]} was lost; logs of this server in " in err
        started[1].communicate()
        assert wait_until(lambda: job.left() == [])
