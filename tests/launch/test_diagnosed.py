"""Diagnosis support of launch scripts: plogs in the run folder, notes, and `hccl-kit diagnose` at the end."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from hccl_kit.runtime.worker_env import DIAGNOSE, PLOGS
from tests.lab.hosts import Hosts
from tests.launch.jobs import all_ready, asked, fake_kit, finish, python_job
from tests.launch.nodes import NodesJob, python_nodes_job
from tests.launch.payload.test_ssh_start import ssh
from tests.waiting import wait_until

__all__ = ["ssh"]

FAIL = "if rank == 1: sys.exit(7)\ntime.sleep(600)"
SLEEP = "print('ready'); time.sleep(600)"
SAY = f"print(os.environ['{PLOGS}'])"


def test_plogs_are_written_to_the_run_folder(tmp_path: Path) -> None:
    job = python_job(tmp_path, SAY, ranks=2)
    job.run()
    plogs = job.logs / "plog" / "127.0.0.1"
    assert plogs.is_dir()
    assert [job.log(rank) for rank in range(2)] == [f"{plogs}\n"] * 2


def test_every_restart_has_its_own_plog_folder(tmp_path: Path) -> None:
    job = python_job(tmp_path, f"{SAY}\nsys.exit('HCCL_KIT_RESTART' not in os.environ)", ranks=1)
    assert job.run("--max-restarts", "1").returncode == 0
    assert job.log(0) == f"{job.logs}/plog/127.0.0.1\n"
    assert (job.logs / "restart_1" / "rank_0.log").read_text() == f"{job.logs}/restart_1/plog/127.0.0.1\n"


def test_a_plog_folder_set_by_the_user_is_kept(tmp_path: Path) -> None:
    job = python_job(tmp_path, SAY, ranks=1)
    job.run(environ={PLOGS: "/their/own"})
    assert job.log(0) == "/their/own\n"
    assert not (job.logs / "plog").exists()


def test_special_characters_of_a_server_name_are_replaced_in_the_path(tmp_path: Path) -> None:
    job = python_job(tmp_path, SAY, ranks=1)
    text = job.script.read_text(encoding="utf-8")
    job.script.write_text(text.replace("server_name=127.0.0.1", "server_name='../../a[$(id)]'"), encoding="utf-8")
    job.run()
    assert job.log(0) == f"{job.logs}/plog/_._.._a___id__\n"


def test_the_notes_distinguish_ranks_that_exited_from_ranks_ended_by_the_script(tmp_path: Path) -> None:
    job = python_job(tmp_path, FAIL, ranks=2)
    job.run()
    notes = [line.split(" ", 1) for line in (job.logs / "launcher_0").read_text().splitlines()]
    host = socket.gethostname()
    assert [text for _, text in notes] == [f"exited 1 7 5 {host}", "ending rank 1 7", f"exited 0 143 4 {host}"]
    assert all(abs(int(when) - time.time()) < 60 for when, _ in notes)


def test_the_diagnosis_comes_last_and_keeps_the_exit_code(tmp_path: Path) -> None:
    environ = fake_kit(tmp_path, "seq -f 'line %g' 40; exit 3")
    job = python_job(tmp_path, FAIL, ranks=2)
    done = job.run(environ=environ)
    assert done.returncode == 7
    assert asked(tmp_path) == f"diagnose {job.logs}\n"
    assert done.stderr.endswith("\n\n" + "".join(f"line {number}\n" for number in range(1, 13)))


@pytest.mark.parametrize("text", ["", "echo of no use >&2; exit 2", "kill -9 $$"])
def test_a_diagnosis_without_a_result_is_not_shown(tmp_path: Path, text: str) -> None:
    done = python_job(tmp_path, FAIL, ranks=2).run(environ=fake_kit(tmp_path, text))
    assert (done.returncode, asked(tmp_path) != "") == (7, True)
    assert done.stderr.endswith("rank_1.log:\n")


def test_a_job_that_succeeds_is_not_diagnosed(tmp_path: Path) -> None:
    assert python_job(tmp_path, "", ranks=2).run(environ=fake_kit(tmp_path, "echo no")).returncode == 0
    assert asked(tmp_path) == ""


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_a_job_ended_by_a_signal_is_not_diagnosed(tmp_path: Path, name: str) -> None:
    job = python_job(tmp_path, SLEEP, ranks=2)
    process = job.start(environ=fake_kit(tmp_path, "echo no"))
    assert wait_until(lambda: all_ready(job))
    process.send_signal(getattr(signal, f"SIG{name}"))
    assert finish(process).returncode == 128 + getattr(signal, f"SIG{name}")
    assert asked(tmp_path) == ""


def test_there_is_no_diagnosis_before_a_restart(tmp_path: Path) -> None:
    job = python_job(tmp_path, FAIL, ranks=2)
    done = job.run("--max-restarts", "1", environ=fake_kit(tmp_path, "echo seen"))
    assert (done.returncode, asked(tmp_path)) == (7, f"diagnose {job.logs}/restart_1\n")


@pytest.mark.parametrize("how", ["late", "ctrl-c"])
def test_a_diagnosis_that_exceeds_its_time_limit_is_ended(tmp_path: Path, how: str) -> None:
    environ = fake_kit(tmp_path, f"echo begun; touch {tmp_path}/begun; exec sleep 600")
    job = python_job(tmp_path, FAIL, ranks=2)
    process = job.start(environ={**environ, DIAGNOSE: "1" if how == "late" else "300"})
    assert wait_until((tmp_path / "begun").exists)
    began = time.monotonic()
    if how == "ctrl-c":
        os.killpg(process.pid, signal.SIGINT)
    done = finish(process)
    assert done.returncode == 7
    assert done.stderr.endswith("\n\nbegun\n")
    assert time.monotonic() - began < 30
    assert wait_until(lambda: job.processes() == [])


@pytest.mark.parametrize("value", ["a[$(touch pwned)]", "-1", "08", "x", "1e9"])
def test_an_invalid_time_limit_is_replaced_by_the_default(tmp_path: Path, value: str) -> None:
    job = python_job(tmp_path, FAIL, ranks=2)
    done = job.run(environ={**fake_kit(tmp_path, "echo seen"), DIAGNOSE: value})
    assert (done.returncode, done.stderr[-5:]) == (7, "seen\n")
    assert not (tmp_path / "pwned").exists()


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
