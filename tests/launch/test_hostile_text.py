"""Untrusted text in place of a number is never executed, and is reported in one line."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from hccl_kit.launch.emitters import bash, slurm
from hccl_kit.launch.files import LaunchFile
from tests.launch.jobs import clean_environ, python_job
from tests.launch.ways import fake, planned, run, servers, write

HOSTILE = (
    "a[$(touch pwned)]",
    "ranks[$(touch${IFS}pwned)]",
    "x=$(touch pwned)",
    "-1;touch pwned",
    "08",
    "1" + "0" * 30,
    "%n%s",
    "\\e[31m",
    "\x1b[31m",
    "",
    "0x10",
    "1 2 3",
    "١",
)


def nothing_ran(folder: Path) -> bool:
    return not list(folder.rglob("pwned*"))


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", ["SLURM_JOB_ID", "SLURM_RESTART_COUNT", "SLURM_ARRAY_TASK_ID", "MASTER_PORT"])
def test_hostile_variables_of_slurm_are_not_executed(tmp_path: Path, name: str, text: str) -> None:
    plan, file = planned(servers((0, 1)), "true")
    script = write(tmp_path, [*slurm.emit(plan, file), LaunchFile(file.name, file.text)])
    fake(tmp_path, "squeue", "exit 1")
    fake(tmp_path, "srun", 'while [[ $1 == -* ]]; do shift; done; SLURM_STEP_ID=0 SLURMD_NODENAME=192.0.2.1 exec "$@"')
    environ = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "1", "SLURM_LOCALID": "0", "PATH": os.defpath}
    done = run(script, environ={**environ, name: text})
    assert nothing_ran(tmp_path)
    assert done.returncode == (2 if name == "SLURM_JOB_ID" or (text and name == "SLURM_RESTART_COUNT") else 0), done
    assert "syntax error" not in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", ["HCCL_KIT_RESTART", "MASTER_PORT", "HCCL_KIT_SERVER", "HCCL_KIT_RUN_ID"])
def test_hostile_variables_of_the_bash_script_are_not_executed(tmp_path: Path, name: str, text: str) -> None:
    job = python_job(tmp_path, "print('ran')", ranks=1)
    done = subprocess.run(
        ["bash", job.script],
        check=False,
        cwd=tmp_path,
        env=clean_environ({name: text}),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert nothing_ran(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "value too great" not in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_file_or_folder_named_latest_is_not_replaced(tmp_path: Path, is_folder: bool) -> None:
    job = python_job(tmp_path, "print('ran')", ranks=1)
    latest = tmp_path / "hccl_logs" / "latest"
    if is_folder:
        latest.mkdir(parents=True)
    else:
        latest.parent.mkdir()
        latest.write_text("precious")
    done = job.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert not list(latest.iterdir()) if is_folder else latest.read_text() == "precious"


def test_the_script_never_executes_the_name_of_a_server(tmp_path: Path) -> None:
    """Also for a handwritten plan."""
    job, table = planned(servers([0], [0]), "true")
    nodes = tuple(replace(node, id=f"a\ntouch pwned_{number}\n#") for number, node in enumerate(job.nodes))
    script = write(tmp_path, bash.emit(replace(job, nodes=nodes), table))
    (tmp_path / table.name).write_text(table.text)
    for server in ("$(touch pwned)", nodes[0].id, "-n"):
        run(script, environ={"HCCL_KIT_SERVER": server})
    assert run(script, environ={"HCCL_KIT_SERVER": nodes[0].id}).returncode == 0
    assert not list(tmp_path.glob("pwned*"))
