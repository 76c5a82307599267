"""Jobs under the real msrun: the environment of the ranks, the end of a job, and no processes left."""

import json
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.launch.emitters import msrun
from hccl_kit.table.model import RankTable
from tests.lab.hosts import hosts, needs_hosts
from tests.launch import jobs
from tests.launch.jobs import clean_environ
from tests.launch.ways import planned, servers, write
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
    assert "error: " not in err
    assert "this is 0" in out.splitlines()
    assert "this is 1" not in out.splitlines()
    for rank, note in enumerate(job.notes):
        assert (note["launcher"], note["size"], note["table"]) == ("msrun", 2, None)
        assert (note["card"], note["argv"]) == (4 + rank, words)
    assert job.left() == []


def test_a_rank_that_fails_ends_the_job(tmp_path: Path) -> None:
    job = Job(tmp_path, servers(range(2)), "if rank == 1: sys.exit(7)\ntime.sleep(600)")
    process = job.start("ends")
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    logs = out.splitlines()[0].partition(", logs in ")[2]
    assert err.endswith(f"\nerror: msrun failed with exit code 1; logs in {logs}\n")
    assert wait_until(lambda: job.left() == [])


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), pytest.param("SIGTERM", 143, marks=LONG)])
def test_no_process_outlives_a_script_that_is_ended(name: str, code: int, tmp_path: Path) -> None:
    deaf = "for name in ('SIGTERM', 'SIGINT'): signal.signal(getattr(signal, name), signal.SIG_IGN)\n"
    job = Job(tmp_path, servers(range(2)), f"{deaf}time.sleep(600)")
    process = job.start()
    assert wait_until(job.all_run)
    process.send_signal(signal.Signals[name])
    process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert wait_until(lambda: job.left() == [])


@needs_hosts
def test_ranks_run_on_two_hosts(tmp_path: Path) -> None:
    with hosts(2) as lab:
        job = Job(tmp_path, servers((0, 1), (4, 5), ids=lab.addresses), "")
        started = [lab.start(i, ["bash", job.script, "ends"], environ=job.environ, folder=tmp_path) for i in range(2)]
        for process in started:
            process.communicate(timeout=PATIENCE)
            assert process.returncode == 0
        assert [(note["host"], note["card"]) for note in job.notes] == [
            *((lab.names[0], 0), (lab.names[0], 1)),
            *((lab.names[1], 4), (lab.names[1], 5)),
        ]
        assert [len(lab.processes(i)) for i in range(2)] == [1, 1]  # their sshds
