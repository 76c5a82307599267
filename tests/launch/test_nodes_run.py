"""One script on several hosts, started by hand on each or from one of them over ssh."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hccl_kit.runtime.worker_env import LINK_PORT, SERVER, WorkerEnv
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.launch.jobs import SCRIPT, TABLE, finish
from tests.launch.nodes import NodesJob, python_nodes_job
from tests.waiting import wait_until

pytestmark = needs_hosts

TELL = "print(json.dumps({**dict(os.environ), 'host': socket.gethostname()}))"
SLEEP = "print('ready'); time.sleep(600)"


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(2) as made:
        yield made


def test_a_script_on_each_host_starts_one_job(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, lab, TELL)
    one, other = job.start(0), job.start(1)
    for process in (one, other):
        done = finish(process)
        assert (done.returncode, done.stderr) == (0, "")
    told = [json.loads(job.log(rank)) for rank in range(4)]
    envs = [WorkerEnv.from_environ(environ) for environ in told]
    assert [environ["host"] for environ in told] == ["node1", "node1", "node2", "node2"]
    assert [(env.rank, env.local_rank, env.device, env.size, env.local_size) for env in envs] == [
        (0, 0, 0, 4, 2),
        (1, 1, 1, 4, 2),
        (2, 0, 0, 4, 2),
        (3, 1, 1, 4, 2),
    ]
    assert {(env.master_addr, env.master_port) for env in envs} == {(lab.addresses[0], envs[0].master_port)}
    assert job.processes() == []


def test_ssh_starts_the_job_on_every_host(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, lab, "print('rank', rank, sys.argv[1:])")
    done = finish(job.start(0, "--ssh", "--prefix", "--", "it's", "--ssh"))
    assert (done.returncode, done.stderr) == (0, "")
    lines = {line for line in done.stdout.splitlines() if line.startswith("[")}
    args = ["it's", "--ssh"]
    assert lines == {f"[node{1 + rank // 2}:{rank}] rank {rank} {args}" for rank in range(4)}
    assert job.processes() == []


def test_ssh_starts_the_job_from_a_host_without_ranks(tmp_path: Path) -> None:
    with hosts(3) as lab:
        job = python_nodes_job(tmp_path, lab, "print('rank', rank)", ids=lab.addresses[1:])
        done = finish(job.start(0, "--ssh"))
        assert (done.returncode, done.stderr) == (0, "")
        assert "\nrank 0\n" in done.stdout


def test_servers_may_have_host_names_as_ids(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, lab, "print('rank', rank)", ids=lab.names)
    assert finish(job.start(1, "--ssh")).returncode == 0
    assert job.log(3) == "rank 3\n"


@pytest.mark.parametrize("way", ["option", "variable"])
def test_a_host_may_have_an_explicit_server_id(tmp_path: Path, lab: Hosts, way: str) -> None:
    job = python_nodes_job(tmp_path, lab, "print('rank', rank)", ids=(lab.addresses[0], "the-other"))
    one = job.start(0)
    other = job.start(1, "--server", "the-other") if way == "option" else job.start(1, environ={SERVER: "the-other"})
    assert [finish(one).returncode, finish(other).returncode] == [0, 0]


def test_a_host_outside_the_table_prints_its_addresses(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, lab, "", ids=("10.9.9.1", "10.9.9.2"))
    done = finish(job.start(1))
    assert done.returncode == 2
    assert done.stderr == (
        f"error: this host is not a server of the table: it has {lab.addresses[1]} node2 node2\n"
        "  the table has 10.9.9.1 10.9.9.2\n"
        "  fix: run this script on one of them, or name this host's server with --server ID\n"
    )


@pytest.mark.parametrize("failing", [0, 3])
def test_the_first_rank_that_fails_ends_the_job_on_all_hosts(tmp_path: Path, lab: Hosts, failing: int) -> None:
    program = f"if rank != {failing}: {SLEEP}\ntime.sleep(0.5); raise SystemExit(7)"
    job = python_nodes_job(tmp_path, lab, program)
    nodes = [job.start(0), job.start(1)]
    done = [finish(process) for process in nodes]
    assert [one.returncode for one in done] == [7, 7]
    home = failing // 2
    assert f"error: rank {failing} on device {failing % 2} of node{home + 1} failed with exit code 7\n" in (
        done[home].stderr
    )
    assert done[1 - home].stderr == (
        f"\nended: rank {failing} on server {lab.addresses[home]} failed with exit code 7; its log is there\n"
    )
    assert job.processes() == []


def test_a_rank_that_fails_after_the_other_host_has_finished_ends_the_job(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, lab, "if rank > 1: time.sleep(2)\nif rank == 3: sys.exit(7)")
    nodes = [job.start(0), job.start(1)]
    done = [finish(process) for process in nodes]
    assert [one.returncode for one in done] == [7, 7]
    server = lab.addresses[1]
    assert done[0].stderr == f"\nended: rank 3 on server {server} failed with exit code 7; its log is there\n"


def test_over_ssh_the_traceback_of_the_failing_rank_comes_last(tmp_path: Path, lab: Hosts) -> None:
    program = f"if rank != 3: {SLEEP}\ntime.sleep(0.5)\nraise ValueError('the reason')"
    job = python_nodes_job(tmp_path, lab, program)
    done = finish(job.start(0, "--ssh", stderr=subprocess.STDOUT))
    assert done.returncode == 1
    server = lab.addresses[1]
    assert f"[{server}] error: rank 3 on device 1 of node2 failed with exit code 1\n" in done.stdout
    assert done.stdout.endswith(f"[{server}] ValueError: the reason\n")
    assert job.processes() == []


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143), ("HUP", 129), ("KILL", -9)])
def test_a_signal_to_the_starter_ends_all_hosts(tmp_path: Path, lab: Hosts, name: str, code: int) -> None:
    job = python_nodes_job(tmp_path, lab, SLEEP)
    process = job.start(0, "--ssh", "--prefix")
    assert wait_until(lambda: len([*job.folder.glob("hccl_logs/latest/rank_*.log")]) == 4)
    process.send_signal(getattr(signal, f"SIG{name}"))
    assert finish(process).returncode == code
    assert wait_until(lambda: job.processes() == [])


@pytest.mark.parametrize("name", ["TERM", "KILL"])
def test_a_script_that_ends_on_one_host_ends_the_job_on_the_others(tmp_path: Path, lab: Hosts, name: str) -> None:
    job = python_nodes_job(tmp_path, lab, SLEEP)
    nodes = [job.start(0), job.start(1)]
    assert wait_until(lambda: len([*job.folder.glob("hccl_logs/latest/rank_*.log")]) == 4)
    nodes[1].send_signal(getattr(signal, f"SIG{name}"))
    done = [finish(process) for process in nodes]
    said = f"the script on server {lab.addresses[1]} ended with exit code 143"
    lost = f"server {lab.addresses[1]} was lost"
    assert done[0].returncode == (143 if name == "TERM" else 255)
    assert f"ended: {said if name == 'TERM' else lost}; logs of this server in {job.logs}\n" in done[0].stderr
    assert wait_until(lambda: job.processes() == [])


def test_a_disconnected_host_ends_the_job_within_ten_seconds(tmp_path: Path) -> None:
    with hosts(2) as lab:
        job = python_nodes_job(tmp_path, lab, SLEEP)
        nodes = [job.start(0), job.start(1)]
        assert wait_until(lambda: len([*job.folder.glob("hccl_logs/latest/rank_*.log")]) == 4)
        lab.cut(1)
        done = [finish(process) for process in nodes]
        assert [one.returncode for one in done] == [255, 255]
        assert f"ended: server {lab.addresses[1]} was lost" in done[0].stderr
        assert f"ended: server {lab.addresses[0]} was lost" in done[1].stderr
        assert job.processes() == []


def rendezvous_programs(lab: Hosts, host: int) -> list[int]:
    """The PIDs of the rendezvous program of the script on a host."""
    found = []
    for process in lab.processes(host):
        with suppress(OSError):  # it has ended
            if b"rendezvous.py NODE" in Path(f"/proc/{process}/cmdline").read_bytes():
                found.append(process)
    return found


def test_a_temporarily_slow_host_is_not_considered_lost(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, lab, "print('ready'); time.sleep(6)")
    nodes = [job.start(0), job.start(1)]
    assert wait_until(lambda: len([*job.folder.glob("hccl_logs/latest/rank_*.log")]) == 4)
    (program,) = rendezvous_programs(lab, 1)
    os.kill(program, signal.SIGSTOP)
    time.sleep(3)
    os.kill(program, signal.SIGCONT)
    assert [finish(process).returncode for process in nodes] == [0, 0]


@pytest.mark.long
def test_over_ssh_a_host_that_does_not_answer_is_named(tmp_path: Path, lab: Hosts) -> None:
    absent = lab.addresses[0].rpartition(".")[0] + ".77"
    job = python_nodes_job(tmp_path, lab, "", ids=(*lab.addresses, absent))
    done = finish(job.start(0, "--ssh"))
    assert done.returncode == 2
    assert f"error: server {absent} does not answer or was lost: " in done.stderr
    assert wait_until(lambda: job.processes() == [])


@pytest.mark.long
def test_a_late_host_is_waited_for(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, lab, "print('rank', rank)")
    one = job.start(0)
    time.sleep(11)
    other = job.start(1)
    done = finish(one)
    assert done.returncode == finish(other).returncode == 0
    assert done.stderr == f"waiting for {lab.addresses[1]}; start this script there too\n"


def test_a_host_with_another_table_is_refused(tmp_path: Path, lab: Hosts) -> None:
    """Each host has separate files; on the second, table and script are of another date."""
    job = python_nodes_job(tmp_path, lab, "print('rank', rank)")
    (tmp_path / "other").mkdir()
    other = python_nodes_job(tmp_path / "other", lab, "", ids=(*lab.addresses, "10.9.9.9"))
    port = {LINK_PORT: "21987"}
    processes = [job.start(0, environ=port), other.start(1, environ=port)]
    refused = finish(processes[1])
    assert refused.returncode == 2
    assert f"error: {lab.addresses[0]} refuses this node: node 0 has the table " in refused.stderr
    processes[0].terminate()
    waiting = finish(processes[0])
    assert f"error: {lab.addresses[1]} has a different rank table, sha256 " in waiting.stderr
    assert not list((tmp_path / "hccl_logs").glob("*/rank_*")) if (tmp_path / "hccl_logs").exists() else True


def test_a_table_that_was_changed_on_one_host_is_refused_there(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, lab, SLEEP)
    (tmp_path / "other").mkdir()
    for name in (SCRIPT, TABLE):
        shutil.copy(tmp_path / name, tmp_path / "other" / name)
    with (tmp_path / "other" / TABLE).open("a") as file:
        file.write("\n")
    done = finish(NodesJob(tmp_path / "other", job.lab).start(1))
    assert done.returncode == 2
    assert done.stderr.startswith("error: this script was generated for another rank table than ")


def test_a_port_unusable_for_the_rendezvous_is_named(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, lab, "")
    taken = lab.start(
        0, ["python3", "-c", "import socket, time; s = socket.create_server(('', 21988)); time.sleep(600)"]
    )
    time.sleep(0.5)
    done = finish(job.start(0, environ={LINK_PORT: "21988"}))
    os.killpg(taken.pid, signal.SIGKILL)
    taken.communicate()
    assert done.returncode == 2
    assert done.stderr == (
        "error: cannot listen on port 21988 for the other nodes of the job: Address already in use\n"
        f"  fix: export {LINK_PORT}=PORT, the same free one on every server\n"
    )


def test_all_hosts_restart_together(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(
        tmp_path, lab, "print('start', restart)\nif restart < 2 and rank == 2: sys.exit(9)\ntime.sleep(1)"
    )
    nodes = [job.start(node, "--max-restarts", "3") for node in range(2)]
    done = [finish(process) for process in nodes]
    assert [one.returncode for one in done] == [0, 0]
    for rank in range(4):
        assert (job.logs / "restart_2" / f"rank_{rank}.log").read_text() == "start 2\n"


def test_logs_of_other_hosts_are_fetched(tmp_path: Path, lab: Hosts) -> None:
    """The second host has another disk at the same path: its ssh sessions have a separate mount."""
    job = python_nodes_job(tmp_path, lab, "print('rank', rank)")
    disk = tmp_path / "disk"
    disk.mkdir()
    for name in (SCRIPT, TABLE, "program.py"):
        shutil.copy(tmp_path / name, disk / name)
    ssh = tmp_path / "ssh"
    ssh.write_text(
        f"""#!/bin/bash
command=${{*: -1}} address=${{*: -2:1}}
[[ $address != {lab.addresses[1]} ]] ||
    command="unshare --mount bash -c $(printf %q "mount --bind {disk} {tmp_path}; $command")"
exec ssh "${{@:1:$#-1}}" "$command"
"""
    )
    ssh.chmod(0o755)
    done = finish(job.start(0, "--ssh", environ={"HCCL_KIT_SSH": str(ssh)}))
    assert (done.returncode, done.stderr) == (0, "")
    (run,) = (path for path in (disk / "hccl_logs").iterdir() if not path.is_symlink())
    assert sorted(path.name for path in run.glob("rank_*")) == ["rank_2.log", "rank_3.log"]
    assert [job.log(rank) for rank in range(4)] == [f"rank {rank}\n" for rank in range(4)]
