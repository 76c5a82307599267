"""The job of a process, according to /proc."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.preflight.probes.port_holder import job_of


def process(proc: Path, *, environ: bytes = b"", cgroup: str = "", started: float | None = None) -> Path:
    folder = proc / "99"
    folder.mkdir(parents=True)
    (folder / "environ").write_bytes(environ)
    (folder / "cgroup").write_text(cgroup)
    if started is not None:
        ticks = int(started * os.sysconf("SC_CLK_TCK"))
        (folder / "stat").write_text(f"99 (a ) b) S {' '.join(['0'] * 18)} {ticks} 0\n")
        (proc / "uptime").write_text("100000.00 0.00\n")
    return folder


def test_a_rank_of_a_launch_script_is_named_by_its_run(tmp_path: Path) -> None:
    found = process(
        tmp_path, environ=b"HCCL_KIT_LOG_DIR=/data/job/hccl_logs/run7\0RANK_ID=3\0SLURM_JOB_ID=812\0", started=85_600
    )
    assert job_of(found) == "rank 3 of hccl_logs/run7, Slurm job 812, for 4 h"


@pytest.mark.parametrize(
    "line",
    [
        "0::/system.slice/docker-{}.scope",
        "12:pids:/docker/{}",
        "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{}.scope",
    ],
)
def test_a_container_is_named_by_the_start_of_its_id(line: str, tmp_path: Path) -> None:
    assert job_of(process(tmp_path, cgroup=line.format("3fa9c1d2e4b5" + "0" * 52) + "\n")) == "container 3fa9c1d2e4b5"


@pytest.mark.parametrize(("started", "age"), [(99_990, "10 s"), (99_000, "16 min"), (0, "1 day"), (200_000, "")])
def test_the_age_is_shown_in_its_largest_unit(started: float, age: str, tmp_path: Path) -> None:
    assert job_of(process(tmp_path, started=started)) == (f"for {age}" if age else "")


@pytest.mark.parametrize(
    "environ",
    [b"", b"\xff\xfe\0=\0==", b"RANK_ID=x\0SLURM_JOB_ID=1;2\0", b"HCCL_KIT_LOG_DIR=\0"],
)
def test_other_processes_have_no_job(environ: bytes, tmp_path: Path) -> None:
    assert job_of(process(tmp_path, environ=environ)) == ""


def test_a_hostile_name_is_short_and_without_control_characters(tmp_path: Path) -> None:
    found = job_of(process(tmp_path, environ=b"HCCL_KIT_LOG_DIR=/\x1b[2J" + b"x" * 9000 + b"\0"))
    assert "\x1b" not in found
    assert len(found) < 100


def test_a_process_that_has_ended_has_no_job(tmp_path: Path) -> None:
    assert job_of(tmp_path / "98") == ""


def test_a_real_process_is_named() -> None:
    """The usual case: a rank left over from an earlier run."""
    environ = {**os.environ, "HCCL_KIT_LOG_DIR": "/data/hccl_logs/old", "RANK_ID": "1"}
    waits = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(waits, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as left_over:
        assert left_over.stdout is not None
        left_over.stdout.readline()
        assert job_of(Path(f"/proc/{left_over.pid}")).startswith("rank 1 of hccl_logs/old")
        left_over.kill()
