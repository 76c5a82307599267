"""A job over ssh: plogs of each server in the run folder, notes, and `hccl-kit diagnose` once, at the end."""

import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from hccl_kit.runtime.worker_env import PLOGS
from tests.lab.hosts import Hosts
from tests.launch.jobs import asked, fake_kit, finish
from tests.launch.nodes import NodesJob, python_nodes_job
from tests.launch.payload.test_ssh_start import ssh
from tests.waiting import wait_until

__all__ = ["ssh"]

FAIL = "if rank == 1: sys.exit(7)\ntime.sleep(600)"
SLEEP = "print('ready'); time.sleep(600)"
SAY = f"print(os.environ['{PLOGS}'])"


def over_ssh(job: NodesJob, environ: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["bash", job.script, "--ssh"],
        cwd=job.folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_over_ssh_the_job_is_diagnosed_once_by_the_starter(tmp_path: Path, ssh: str) -> None:
    job = python_nodes_job(tmp_path, Hosts("", tmp_path, ("127.0.0.1", "127.0.0.2")), f"{SAY}\n{FAIL}")
    done = finish(over_ssh(job, {**fake_kit(tmp_path, "echo seen"), "HCCL_KIT_SSH": ssh}))
    assert (done.returncode, asked(tmp_path)) == (7, f"diagnose {job.logs}\n")
    assert done.stderr.endswith("\nseen\n")
    assert sorted(path.name for path in (job.logs / "plog").iterdir()) == ["127.0.0.1", "127.0.0.2"]
    assert re.search("^[0-9]+ ending over ", (job.logs / "launcher_1").read_text(), re.MULTILINE)


def test_over_ssh_a_job_ended_by_ctrl_c_is_not_diagnosed(tmp_path: Path, ssh: str) -> None:
    job = python_nodes_job(tmp_path, Hosts("", tmp_path, ("127.0.0.1", "127.0.0.2")), SLEEP)
    process = over_ssh(job, {**fake_kit(tmp_path, "echo no"), "HCCL_KIT_SSH": ssh})
    assert wait_until(lambda: any("ready" in log.read_text() for log in job.logs.glob("rank_*.log")))
    process.send_signal(signal.SIGINT)
    assert finish(process).returncode == 130
    assert asked(tmp_path) == ""
