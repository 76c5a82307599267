"""The checks of the launch script before it starts the ranks, and the environment of the ranks."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hccl_kit.runtime.worker_env import LOG_DIR, MISLEADING, NAMES, RANK_TABLE_FILE, RUN_ID, WorkerEnv
from tests.lab.hosts import Hosts
from tests.launch.jobs import SCRIPT, TABLE, Job, clean_environ, make_job, python_job
from tests.launch.nodes import make_nodes_job
from tests.launch.ways import fake
from tests.ports import free_port
from tests.waiting import PATIENCE

(PORT,) = NAMES["master_port"]
UNBOUND = "cannot be bound on this host (in use, or below 1024 without privileges)"
TELL = "json.dump(dict(os.environ), sys.stdout)"


def told(job: Job, rank: int) -> dict[str, str]:
    environ: dict[str, str] = json.loads(job.log(rank))
    return environ


def refused(job: Job, **environ: str) -> str:
    """The error of the script, which must not start anything."""
    done = job.run(environ=environ)
    assert (done.returncode, done.stdout) == (2, "")
    assert not (job.folder / "hccl_logs").exists()
    return done.stderr


def path_with(folder: Path, *tools: str) -> str:
    """A PATH on which only `tools` are found."""
    (folder / "bin").mkdir()
    for tool in tools:
        found = shutil.which(tool)
        assert found, tool
        (folder / "bin" / tool).symlink_to(found)
    return str(folder / "bin")


TOOLS = (
    *("bash", "cat", "cp", "env", "grep", "ln", "mkdir", "od", "readlink", "sed", "setsid", "sha256sum"),
    *("sleep", "stat", "tail", "touch", "true"),
)


def test_every_rank_gets_its_planned_environment(tmp_path: Path) -> None:
    job = python_job(tmp_path, TELL)
    assert job.run().returncode == 0
    environs = [told(job, rank) for rank in range(4)]
    (port,) = {int(environ[PORT]) for environ in environs}
    table, name = str(tmp_path / TABLE), job.logs.name
    expected = [replace(worker, master_port=port, table=table, run=name) for worker in job.plan.workers]
    assert [WorkerEnv.from_environ(environ) for environ in environs] == expected
    # Both names of every field are set, not only one of them.
    assert all(
        environ.items() >= worker.to_environ().items() for environ, worker in zip(environs, expected, strict=True)
    )
    assert 20000 <= port < 32000
    assert {(environ[RUN_ID], environ[LOG_DIR]) for environ in environs} == {(job.logs.name, str(job.logs))}


def test_leftovers_of_other_launchers_do_not_reach_a_rank(tmp_path: Path) -> None:
    job = python_job(tmp_path, TELL, ranks=1)
    starts_torchrun = ("NPROC_PER_NODE", "NNODES", "FORCE_TORCHRUN")  # in ms-swift, xtuner and LLaMA-Factory
    removed = {*MISLEADING, *starts_torchrun, "OMPI_COMM_WORLD_RANK", "ACCELERATE_TORCH_DEVICE"}
    left_over = dict.fromkeys(removed, "1") | {name: "99" for key in ("rank", "size", "device") for name in NAMES[key]}
    assert job.run(environ=left_over).returncode == 0
    environ = told(job, 0)
    assert not environ.keys() & removed
    assert WorkerEnv.from_environ(environ).size == 1


def test_the_script_runs_in_the_current_folder_with_the_table_next_to_it(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home of -scripts'", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    make_job(home, ("env",), ranks=1)
    (elsewhere / "link").symlink_to(home / SCRIPT)
    subprocess.run(["bash", "link"], cwd=elsewhere, env=clean_environ(), check=True, capture_output=True)
    log = next(elsewhere.glob("hccl_logs/*/rank_0.log")).read_text()
    assert f"{RANK_TABLE_FILE}={home / TABLE}\n" in log
    assert f"PWD={elsewhere}\n" in log


def test_a_symbolic_link_to_the_table_is_resolved(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("env",), ranks=1)
    (tmp_path / TABLE).rename(tmp_path / "real.json")
    (tmp_path / TABLE).symlink_to("real.json")
    assert job.run().returncode == 0
    assert f"{RANK_TABLE_FILE}={tmp_path / 'real.json'}\n" in job.log(0)


def test_a_changed_table_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",))
    expected = hashlib.sha256((tmp_path / TABLE).read_bytes()).hexdigest()
    with (tmp_path / TABLE).open("a") as file:
        file.write("\n")
    found = hashlib.sha256((tmp_path / TABLE).read_bytes()).hexdigest()
    assert refused(job) == (
        f"error: this script was generated for another rank table than {tmp_path / TABLE}\n"
        f"  expected sha256 {expected}\n"
        f"  found    sha256 {found}\n"
        "  fix: restore the table, or generate table and script again with hccl-gen\n"
    )


def test_a_missing_table_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",))
    (tmp_path / TABLE).unlink()
    assert refused(job) == (
        f"error: cannot read the rank table {tmp_path / TABLE}\n  fix: put it next to this script\n"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_table_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",))
    (tmp_path / TABLE).chmod(0)
    assert "cannot read the rank table" in refused(job)


def test_a_path_that_hccl_would_truncate_is_refused(tmp_path: Path) -> None:
    """HCCL truncates a path after its first .json (R2)."""
    folder = tmp_path / "a.json.d"
    folder.mkdir()
    job = make_job(folder, ("true",))
    assert refused(job) == f"error: HCCL cannot read {folder / TABLE}\n  fix: use .json only at its end\n"


def test_an_explicit_port_is_used(tmp_path: Path) -> None:
    port = free_port()
    job = make_job(tmp_path, ("env",), ranks=1)
    assert job.run(environ={PORT: str(port)}).returncode == 0
    assert f"{PORT}={port}\n" in job.log(0)


@pytest.mark.parametrize("host", ["127.0.0.1", ""])
def test_a_port_in_use_is_refused(tmp_path: Path, host: str) -> None:
    job = make_job(tmp_path, ("true",))
    with socket.create_server((host, 0)) as server:
        port = server.getsockname()[1]
        assert refused(job, **{PORT: str(port)}) == (
            f"error: {PORT}={port} {UNBOUND}\n  fix: unset {PORT} to use a free port\n"
        )


@pytest.mark.parametrize("port", ["0", "65536", "99999", "123456", "x", "-1", "8 8", "08", "a[$(touch hacked)]"])
def test_an_invalid_port_is_refused(tmp_path: Path, port: str) -> None:
    job = make_job(tmp_path, ("true",))
    assert refused(job, **{PORT: port}).startswith(f"error: {PORT}={port} is not a port number (1 to 65535)\n")
    assert not (tmp_path / "hacked").exists()


def test_without_python_a_note_reports_that_the_port_is_untested(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("env",), ranks=1)
    path = path_with(tmp_path, *TOOLS)
    done = job.run(environ={"PATH": path})
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("note: no Python found, so the port was only probed")
    assert f"\n{PORT}=" in job.log(0)


def test_without_python_a_port_that_answers_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",), ranks=1)
    path = path_with(tmp_path, *TOOLS)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert f"error: {PORT}={port} {UNBOUND}\n" in refused(job, PATH=path, **{PORT: str(port)})


def test_the_port_is_tested_with_the_python_of_the_command(tmp_path: Path) -> None:
    job = python_job(tmp_path, TELL, ranks=1)
    done = job.run(environ={"PATH": path_with(tmp_path, *TOOLS)})
    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_whose_name_starts_with_python_runs_once(tmp_path: Path) -> None:
    """The search for a Python interpreter must not start the user's own program."""
    job = make_job(tmp_path, ("./python_train.sh",), ranks=1)
    fake(tmp_path, "python_train.sh", 'echo "$*" >>started').rename(tmp_path / "python_train.sh")
    assert job.run("--epochs", "1").returncode == 0
    assert (tmp_path / "started").read_text() == "--epochs 1\n"


def python_of_old(folder: Path) -> str:
    """A PATH whose only python reports version 3.7."""
    path = path_with(folder, *TOOLS, "hostname")
    for name in ("python3", "python"):
        fake(
            folder,
            name,
            f"exec '{sys.executable}' -I -c $'import sys; sys.version_info = (3, 7, 9)\\n'\"$3\" \"${{@:4}}\"",
        )
    return path


def test_an_old_python_is_sufficient_for_one_server(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("env",), ranks=1)
    done = job.run(environ={"PATH": python_of_old(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")


def test_several_servers_need_a_recent_python(tmp_path: Path) -> None:
    job = make_nodes_job(tmp_path, Hosts("", tmp_path, ("127.0.0.1", "127.0.0.2")), ("true",))
    done = subprocess.run(
        ["bash", job.script, "--server", "127.0.0.1"],
        check=False,
        cwd=tmp_path,
        env=clean_environ({"PATH": python_of_old(tmp_path)}),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: Python 3.8 or newer not found on PATH; jobs on several servers need it\n"
        "  fix: install it, or start the command with the path of one\n"
    )


@pytest.mark.parametrize("tool", ["setsid", "sha256sum", "grep"])
def test_a_missing_tool_is_named(tmp_path: Path, tool: str) -> None:
    job = make_job(tmp_path, ("true",))
    path = path_with(tmp_path, *(name for name in TOOLS if name != tool))
    expected = f"error: {tool} is not on PATH\n  fix: install coreutils, grep, sed and util-linux\n"
    assert refused(job, PATH=path) == expected


@pytest.mark.skipif(shutil.which("dash") is None, reason="dash is not installed")
def test_another_shell_prints_that_bash_is_needed(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",))
    done = subprocess.run(["dash", job.script], check=False, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == f"error: this needs bash 4.3 or newer; start it with: bash {job.script}\n"


def test_bash_in_posix_mode_is_accepted(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",))
    done = subprocess.run(
        ["bash", "--posix", job.script], check=False, cwd=tmp_path, env=clean_environ(), capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_limit_for_idle_terminals_does_not_end_the_job(tmp_path: Path) -> None:
    job = python_job(tmp_path, "time.sleep(3); print(os.environ.get('TMOUT'))", ranks=1)
    done = job.run(environ={"TMOUT": "1"})
    assert (done.returncode, done.stderr, job.log(0)) == (0, "", "None\n")


def test_two_runs_have_separate_log_folders(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",), ranks=2)
    for _ in range(2):
        assert job.run().returncode == 0
    *runs, latest = sorted((tmp_path / "hccl_logs").iterdir())
    assert (latest.name, latest.resolve()) == ("latest", max(runs, key=lambda run: run.stat().st_ctime_ns))
    assert [sorted(file.name for file in run.iterdir()) for run in runs] == [["plog", "rank_0.log", "rank_1.log"]] * 2


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    job = make_job(tmp_path, ("true",))
    (tmp_path / "hccl_logs").write_text("")
    done = job.run()
    assert done.returncode == 2
    assert done.stderr == f"error: cannot create the log folder {tmp_path}/hccl_logs\n"
