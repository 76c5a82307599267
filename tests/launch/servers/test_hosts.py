"""`hccl-kit run --ssh` on several hosts: each with a network, a name and an sshd of its own."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.launch.jobs import finish
from tests.launch.nodes import NodesJob, python_nodes_job
from tests.waiting import wait_until

pytestmark = needs_hosts

SLEEP = "print('ready', flush=True); time.sleep(600)"
WHERE = "print('rank', rank, 'on', socket.gethostname())"


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(2) as made:
        yield made


def test_it_starts_the_ranks_of_every_host_from_one_of_them(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, WHERE, lab=lab)
    done = finish(job.start(node=0))
    assert done.returncode == 0, done.stderr
    assert [job.log(rank) for rank in range(4)] == [f"rank {rank} on node{1 + rank // 2}\n" for rank in range(4)]
    assert wait_until(lambda: job.processes() == [])


def test_servers_may_have_host_names_as_ids(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, WHERE, lab=lab, ids=lab.names)
    assert finish(job.start(node=1)).returncode == 0
    assert job.log(3) == "rank 3 on node2\n"


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("KILL", -9)])
def test_a_signal_to_the_starter_ends_the_ranks_of_all_hosts(tmp_path: Path, lab: Hosts, name: str, code: int) -> None:
    job = python_nodes_job(tmp_path, SLEEP, lab=lab)
    process = job.start()
    assert wait_until(lambda: job.all_say("ready"))
    process.send_signal(getattr(signal, f"SIG{name}"))
    assert finish(process).returncode == code
    assert wait_until(lambda: job.processes() == [])


def test_a_host_whose_cable_is_pulled_ends_the_job_and_its_ranks(tmp_path: Path) -> None:
    with hosts(2) as lab:
        job = python_nodes_job(tmp_path, SLEEP, lab=lab)
        process = job.start()
        assert wait_until(lambda: job.all_say("ready"))
        lab.cut(1)
        done = finish(process)
        assert done.returncode == 2
        assert f"error: server {lab.addresses[1]} does not answer or was lost: " in done.stderr
        assert wait_until(lambda: job.processes() == [], 30)


def another_disk(job: NodesJob) -> tuple[Path, dict[str, str]]:
    """The second host has another disk at the same path: its ssh sessions have a separate mount."""
    assert job.lab
    disk, ssh = job.folder / "disk", job.folder / "ssh"
    disk.mkdir()
    (disk / "program.py").write_bytes((job.folder / "program.py").read_bytes())
    ssh.write_text(
        f"""#!/bin/bash
command=${{*: -1}} address=${{*: -2:1}}
[[ $address != {job.lab.addresses[1]} ]] ||
    command="unshare --mount bash -c $(printf %q "mount --bind {disk} {job.folder}; $command")"
exec ssh -F {job.lab.ssh_config} "${{@:1:$#-1}}" "$command"
"""
    )
    ssh.chmod(0o755)
    return disk, {"HCCL_KIT_SSH": str(ssh)}


def test_logs_of_hosts_with_another_disk_are_fetched(tmp_path: Path, lab: Hosts) -> None:
    job = python_nodes_job(tmp_path, "print('rank', rank)", lab=lab)
    disk, environ = another_disk(job)
    done = finish(job.start(environ=environ))
    assert done.returncode == 0, done.stderr
    (run,) = (path for path in (disk / "hccl_logs").iterdir() if not path.is_symlink())
    assert sorted(path.name for path in run.glob("rank_*")) == ["rank_2.log", "rank_3.log"]
    assert [job.log(rank) for rank in range(4)] == [f"rank {rank}\n" for rank in range(4)]


def test_a_verdict_on_hosts_with_another_disk_has_their_logs(tmp_path: Path, lab: Hosts) -> None:
    """It fetches them after each start; and an agent finds the folder of the start before."""
    program = "if rank == 3: raise (ValueError if restart else OSError)('a reason')\ntime.sleep(600)"
    job = python_nodes_job(tmp_path, program, lab=lab)
    _, environ = another_disk(job)
    policy = ("--max-restarts", "5", "--restart-policy", "verdict")
    done = finish(job.start(*policy, environ={**environ, "HCCL_KIT_DIAGNOSE": "60"}))
    assert done.returncode == 1
    assert "not restarted: rank 3: ValueError: a reason" in done.stderr
    assert [path.name for path in job.logs.glob("restart_*")] == ["restart_1"]
