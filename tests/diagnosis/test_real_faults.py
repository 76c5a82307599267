"""A few real jobs with a planted fault; benchmarks/real_faults.py has all kinds and a hundred runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.real_fault_kinds import KINDS, OF_TORCH, Fault
from benchmarks.real_faults import render, run_small, run_torch, run_train
from tests.lab.hosts import needs_hosts
from tests.launch.jobs import python_job

QUICK = ("kill", "raise", "exit", "operator")
NEEDS_ROOT = ("full", "full-logs")
OF_TRAINING = ("cut", "check")
IN_TRAINING = ("starve", "delay", "cut", "check")
"""They are planted in modules of ours, which a change may rename."""


def assert_right(kind: str, *, ranks: int = 3) -> None:
    result = run_small(Fault(kind, ranks, ranks - 1, step=4, moment=0.3))
    assert result.verdict == "right", result


@pytest.mark.parametrize("kind", QUICK)
def test_a_planted_fault_is_named(kind: str) -> None:
    assert_right(kind)


@pytest.mark.long
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in (*QUICK, *NEEDS_ROOT, *OF_TRAINING, "host")])
def test_any_other_planted_fault_is_named(kind: str) -> None:
    assert_right(kind)


@pytest.mark.long
@pytest.mark.parametrize("kind", IN_TRAINING)
def test_names_the_faults_of_a_training(kind: str, tmp_path: Path) -> None:
    render(tmp_path)
    result = run_train(Fault(kind, 2, 1, step=8, moment=0.3), tmp_path)
    assert result.verdict == "right", result


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["operator", pytest.param("delay", marks=pytest.mark.long)])
def test_names_the_fault_of_a_torch_job_without_collective_names(kind: str) -> None:
    pytest.importorskip("torch")
    result = run_torch(Fault(kind, 3, 1, step=6, moment=0.3))
    assert result.verdict == "right", result


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.parametrize("kind", [kind for kind in OF_TORCH if kind not in ("operator", "delay")])
def test_names_the_faults_of_other_torch_jobs(kind: str) -> None:
    pytest.importorskip("torch")
    result = run_torch(Fault(kind, 4, 2, step=6, moment=0.3))
    assert result.verdict == "right" or (result.verdict == "cannot tell" and kind in ("size", "skip")), result


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a small disk")
@pytest.mark.parametrize("kind", NEEDS_ROOT)
def test_names_a_full_disk(kind: str) -> None:
    assert_right(kind)


@pytest.mark.long
@needs_hosts
def test_names_a_host_without_power() -> None:
    assert_right("host", ranks=4)


def test_a_job_of_the_script_of_one_server_is_diagnosed(tmp_path: Path) -> None:
    program = (
        "from hccl_kit import collective, recorded\n"
        "with recorded():\n"
        "    while rank == 1:\n"
        "        if os.path.exists('waiting'): os.kill(os.getpid(), signal.SIGKILL)\n"
        "        time.sleep(0.01)\n"
        "    with collective('all_reduce', 8):\n"
        "        open('waiting', 'w').close()\n"
        "        time.sleep(600)\n"
    )
    job = python_job(tmp_path, program, ranks=2)
    assert job.run().returncode == 137
    kit = [sys.executable, "-m", "hccl_kit.cli.kit", "diagnose", str(job.logs)]
    done = subprocess.run(kit, check=False, capture_output=True, text=True)
    first, *rest = done.stdout.splitlines()
    assert first.startswith("first fault:  rank 1 (")
    assert ": was killed by SIGKILL" in first
    assert any(line.startswith("fix: ") for line in rest)
    assert any(line.startswith("certain: ") for line in rest)
