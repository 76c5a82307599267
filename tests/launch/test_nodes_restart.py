"""Servers restart together, or not at all: both are on this host, each with a separate folder."""

import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from hccl_kit.runtime.worker_env import LINK_PORT
from tests.lab.hosts import Hosts
from tests.launch.jobs import SCRIPT, clean_environ, finish
from tests.launch.nodes import NodesJob, python_nodes_job
from tests.launch.ways import fake
from tests.waiting import wait_until

IDS = ("127.0.0.1", "127.0.0.2")
STEP = "open(os.environ['HCCL_KIT_LOG_DIR'] + f'/step_{rank}', 'w').write"
MEET = """
beside = os.path.dirname(__file__)
open(f'{beside}/here_{restart}_{rank}', 'w').close()
while not all(os.path.exists(f'{beside}/here_{restart}_{other}') for other in range(4)): time.sleep(0.02)
"""
SSH = """
while [[ $1 == -* ]]; do case $1 in -o) shift 2 ;; *) shift ;; esac; done
exec env -i HOME=/ bash -c "$2"
"""
"""A fake ssh that runs the command on this host."""


class Pair:
    """Servers 0 and 1 of a job, ranks 0 and 1 on the first. They wait for each other for 3 s at a restart."""

    def __init__(self, folder: Path, program: str) -> None:
        self.job = python_nodes_job(folder, Hosts("", folder, IDS), program)
        script = self.job.script.read_text(encoding="utf-8")
        assert script.count("timeout=60\n") == 1
        self.job.script.write_text(script.replace("timeout=60\n", "timeout=3\n"), encoding="utf-8")
        with socket.create_server(("", 0)) as probe:
            self.port = str(probe.getsockname()[1])

    def folder(self, server: int) -> Path:
        return self.job.folder / f"disk{server}"

    def start(self, server: int, *options: str) -> "subprocess.Popen[str]":
        self.folder(server).mkdir()
        return subprocess.Popen(
            ["bash", self.job.script, "--server", IDS[server], *options],
            cwd=self.folder(server),
            env=clean_environ({LINK_PORT: self.port}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def both(self, *options: str) -> "list[subprocess.Popen[str]]":
        return [self.start(server, *options) for server in range(2)]

    def are_ready(self) -> bool:
        """All ranks have printed "ready"."""
        logs = [*self.job.folder.glob("disk*/hccl_logs/latest/rank_*.log")]
        return len(logs) == 4 and all("ready\n" in log.read_text() for log in logs)

    def restarts(self, server: int) -> list[str]:
        return sorted(path.name for path in self.folder(server).glob("hccl_logs/latest/restart_*"))


@pytest.mark.parametrize(("further", "code", "restarts"), [(0, 0, ["restart_1", "restart_2"]), (1, 3, ["restart_1"])])
def test_the_first_server_checks_the_progress_of_all_servers(
    tmp_path: Path, further: int, code: int, restarts: list[str]
) -> None:
    """The ranks of one server came one step further than before, those of the other did not."""
    program = f"{STEP}(f'{{5 + restart * (rank // 2 == {further})}}\\n')\n{MEET}\nsys.exit(3 if restart < 2 else 0)"
    pair = Pair(tmp_path, program)
    done = [finish(process) for process in pair.both("--max-restarts", "9")]
    assert [one.returncode for one in done] == [code, code], done
    assert [pair.restarts(server) for server in range(2)] == [restarts, restarts]
    gave_up = "giving up after restart 1: no progress (step 5, previously step 5)\n"
    assert done[0].stderr.endswith(gave_up) == bool(code)
    assert done[1].stderr.endswith(f"server {IDS[0]} gave up restarting\n") == bool(code)
    assert pair.job.processes() == []


@pytest.mark.parametrize("server", [0, 1])
def test_a_job_stopped_on_one_server_does_not_restart_on_the_other(tmp_path: Path, server: int) -> None:
    pair = Pair(tmp_path, "print('ready', flush=True); time.sleep(60)")
    processes = pair.both("--max-restarts", "3")
    assert wait_until(pair.are_ready)
    processes[server].terminate()
    done = [finish(process) for process in processes]
    assert [one.returncode for one in done] == [143, 143]
    assert done[1 - server].stderr.startswith(f"\nended: the script on server {IDS[server]} ended with exit code 143")
    assert "restart" not in done[0].stderr + done[1].stderr
    assert pair.job.processes() == []


def test_a_job_stopped_after_the_other_server_finished_does_not_restart(tmp_path: Path) -> None:
    pair = Pair(tmp_path, "print('ready', flush=True)\nif rank > 1: time.sleep(60)")
    processes = pair.both("--max-restarts", "3")
    assert wait_until(pair.are_ready)
    time.sleep(0.7)
    processes[1].terminate()
    done = [finish(process) for process in processes]
    assert [one.returncode for one in done] == [143, 143]
    assert "restart" not in done[0].stderr


@pytest.mark.long
def test_a_killed_helper_restarts_the_ranks_on_both_servers(tmp_path: Path) -> None:
    program = "print('ready', flush=True)\nif rank == 2 and restart == 0: os.kill(os.getppid(), 9)\ntime.sleep(2)"
    done = [finish(process) for process in Pair(tmp_path, program).both("--max-restarts", "1")]
    assert [one.returncode for one in done] == [0, 0], done
    assert f"\nended: a rank on server {IDS[1]} was lost, exit code 137; logs" in done[0].stderr
    assert "\nerror: a rank was lost, exit code 137; logs" in done[1].stderr


@pytest.mark.long
@pytest.mark.parametrize("server", [0, 1])
def test_a_server_missing_at_the_restart_does_not_hide_the_failure(tmp_path: Path, server: int) -> None:
    pair = Pair(tmp_path, "time.sleep(0.3)\nif rank == 2: sys.exit(7)\ntime.sleep(60)")
    processes = [pair.start(0, "--max-restarts", str(server)), pair.start(1, "--max-restarts", str(1 - server))]
    done = [finish(process) for process in processes]
    assert [one.returncode for one in done] == [7, 7]
    assert "\n  fix: start this script there too" in done[1 - server].stderr


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("HUP", 129)])
def test_a_signal_on_a_server_whose_ranks_have_finished_ends_both(tmp_path: Path, name: str, code: int) -> None:
    pair = Pair(tmp_path, "print('ready', flush=True)\nif rank > 1: time.sleep(60)")
    processes = pair.both()
    assert wait_until(pair.are_ready)
    time.sleep(0.7)
    processes[0].send_signal(getattr(signal, f"SIG{name}"))
    done = [finish(process) for process in processes]
    assert [one.returncode for one in done] == [code, code]
    logs = pair.folder(0) / "hccl_logs" / "latest"
    assert done[0].stderr == f"ended by SIG{name}; logs in {logs.resolve()}\n"


@pytest.mark.long
@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("HUP", 129)])
def test_a_signal_ends_the_wait_for_the_other_server(tmp_path: Path, name: str, code: int) -> None:
    pair = Pair(tmp_path, "time.sleep(0.3)\nif rank == 2: sys.exit(7)\ntime.sleep(60)")
    script = pair.job.script.read_text(encoding="utf-8")
    pair.job.script.write_text(script.replace("timeout=3\n", "timeout=30\n"), encoding="utf-8")
    waiting, absent = pair.start(0, "--max-restarts", "1"), pair.start(1)
    assert finish(absent).returncode == 7
    assert waiting.stderr
    while waiting.stderr.readline() != "restart 1 of 1 in 1 s\n":
        assert waiting.poll() is None
    time.sleep(2)
    waiting.send_signal(getattr(signal, f"SIG{name}"))
    done = finish(waiting)
    assert done.returncode == code
    assert done.stderr.startswith(f"ended by SIG{name}; logs in ")


def over_ssh(folder: Path, program: str) -> "tuple[NodesJob, subprocess.Popen[str]]":
    """A job that is started by a third process on both servers."""
    job = python_nodes_job(folder, Hosts("", folder, IDS), program)
    process = subprocess.Popen(
        ["bash", SCRIPT, "--ssh", "--max-restarts", "3"],
        cwd=folder,
        env=clean_environ({"HCCL_KIT_SSH": str(fake(folder, "ssh", SSH))}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    logs = job.folder / "hccl_logs" / "latest"
    if not wait_until(lambda: [log.read_text() for log in logs.glob("rank_*.log")] == ["ready\n"] * 4):
        process.kill()
        raise AssertionError(process.communicate())
    return job, process


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "KILL"])
def test_a_job_whose_starter_has_ended_does_not_restart(tmp_path: Path, name: str) -> None:
    job, process = over_ssh(tmp_path, "print('ready', flush=True); time.sleep(60)")
    number = getattr(signal, f"SIG{name}")
    process.send_signal(number)
    done = finish(process)
    assert done.returncode == (-number if name == "KILL" else 128 + number)
    assert wait_until(lambda: job.processes() == [], seconds=3)
    assert not [*job.logs.glob("restart_*")]
    assert "restart" not in done.stderr


def test_a_job_whose_starter_ends_while_its_ranks_end_does_not_restart(tmp_path: Path) -> None:
    """The ranks ignore signals, so there is time. The end of the starter is reported meanwhile, without a listener."""
    deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('ready', flush=True)"
    wait = "while not os.path.exists('fail'): time.sleep(0.02)"
    job, process = over_ssh(tmp_path, f"{deaf}\n{wait}\nif rank == 2: sys.exit(7)\ntime.sleep(60)")
    (tmp_path / "fail").touch()
    assert wait_until((job.logs / "failed").exists)
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.returncode in (7, 130)
    # The reported one of the two depends on which arrives first.
    assert "error: rank 2 on " in done.stderr or "the script that started this one over ssh is gone" in done.stderr
    assert "restart" not in done.stderr
    assert job.processes() == []
    assert not [*job.logs.glob("restart_*")]
