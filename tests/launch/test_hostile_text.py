"""Untrusted text in place of a number is never executed, and is reported in one line."""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from hccl_kit.launch.emitters import bash, msrun, slurm
from hccl_kit.launch.files import LaunchFile
from hccl_kit.launch.payload.messages import Malformed, parse_from_node, parse_from_node_0, printable
from hccl_kit.runtime.worker_env import LINK_PORT
from tests.lab.hosts import Hosts
from tests.launch.jobs import clean_environ, python_job
from tests.launch.nodes import python_nodes_job
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


def functions(script: Path, after: str) -> subprocess.CompletedProcess[str]:
    """Run `after` with the functions of a script: its text up to the first section that starts something."""
    text = script.read_text(encoding="utf-8")
    names = (
        "next_event",
        "is_event",
        "is_failure",
        "step_of",
        "slowest_rank",
        "furthest_step",
        "read_failed",
        "is_number",
        "failed_rank",
        "read_end",
    )
    found = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.partition("()")[0] in names:
            end = next(i for i in range(number, len(lines)) if lines[i].startswith("}"))
            found += lines[number : end + 1]
    program = "\n".join(["set -euo pipefail", *found, after])
    return subprocess.run(
        ["bash", "-c", program], cwd=script.parent, capture_output=True, check=False, text=True, timeout=300
    )


def bash_script(folder: Path) -> Path:
    plan, file = planned(servers((0, 1), (0, 1)), "true")
    return write(folder, bash.emit(plan, file))


def nothing_ran(folder: Path) -> bool:
    return not list(folder.rglob("pwned*"))


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "form",
    [
        "rank {} 1",
        "rank 1 {}",
        "over {} 1 0",
        "over 1 {} 0",
        "over 1 1 {}",
        "start {} 1",
        "start 1-2 {}",
        "hang {} 124",
        "gone -2 {}",
        "{}",
    ],
)
def test_an_invalid_note_is_one_error_line(tmp_path: Path, form: str, text: str) -> None:
    script = bash_script(tmp_path)
    (tmp_path / "note").write_text(form.format(text) + "\ndone\n", encoding="utf-8")
    done = functions(
        script,
        "exec 8<note; ranks=(0 1) servers=(a b)\n"
        'while next_event 1; do echo "$kind|$rank|$code|$where"; ((code == 0)) || :; done',
    )
    assert nothing_ran(tmp_path)
    assert done.stdout == "done|||\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: unexpected message to the launch script: ")
    assert line.isprintable()


@pytest.mark.parametrize("note", ["rank 1 137", "hang 0 124", "gone -2 129", "over -3 255 1", "start 1-2 65535"])
def test_a_valid_note_is_accepted(tmp_path: Path, note: str) -> None:
    (tmp_path / "note").write_text(note + "\n")
    done = functions(bash_script(tmp_path), 'exec 8<note; servers=(a b); next_event 1; echo "$kind $rank $code $where"')
    assert (done.stdout.strip(), done.stderr) == (note.replace("255 1", "255 b"), "")


@pytest.mark.parametrize("text", [*HOSTILE, "5"])
def test_a_step_that_is_not_a_number_is_ignored(tmp_path: Path, text: str) -> None:
    script = bash_script(tmp_path)
    (tmp_path / "step_0").write_text(f"{text}\n", encoding="utf-8")
    (tmp_path / "step_1").write_text("7\n")
    (tmp_path / "step_a[$(touch pwned)]").write_text("1\n")
    done = functions(script, 'logs=$PWD ranks=(0 1); echo "$(furthest_step) $(slowest_rank)"')
    assert nothing_ran(tmp_path) or (tmp_path / "step_a[$(touch pwned)]").exists()
    assert not (tmp_path / "pwned").exists()
    assert (done.stdout, done.stderr) == ("7 0\n" if text == "5" else "7 1\n", "")


def test_a_step_file_that_is_a_pipe_or_has_nul_is_not_read(tmp_path: Path) -> None:
    script = bash_script(tmp_path)
    subprocess.run(["mkfifo", tmp_path / "step_0"], check=True)
    (tmp_path / "step_1").write_bytes(b"\0\0[$(touch pwned)]\n")
    done = functions(script, 'logs=$PWD ranks=(0 1); echo "<$(furthest_step)>"')
    assert (done.stdout, done.stderr) == ("<>\n", "")
    assert nothing_ran(tmp_path)


@pytest.mark.parametrize("text", [*HOSTILE, "3"])
@pytest.mark.parametrize("form", ["worker_1 {}", "worker_{} 3", "{} 3", "worker_1 3 {}"])
def test_hostile_notes_of_msrun_are_not_executed(tmp_path: Path, form: str, text: str) -> None:
    plan, file = planned(servers((0, 1), (0, 1)), "true")
    script = write(tmp_path, msrun.emit(plan, file))
    (tmp_path / "failed").write_text(form.format(text) + "\n", encoding="utf-8")
    done = functions(script, 'logs=$PWD ranks=(0 1) name="" code=0; read_failed || :; echo "$name|$code"')
    assert nothing_ran(tmp_path)
    assert done.stderr == ""
    assert done.stdout in (("worker_1|3\n", "|0\n") if text in ("3", "") else ("|0\n",))


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


@pytest.mark.parametrize("way", [bash, msrun], ids=lambda way: way.__name__.rpartition(".")[2])
def test_a_folder_name_with_control_characters_is_refused(tmp_path: Path, way: ModuleType) -> None:
    folder = tmp_path / "a\x1b[31mb"
    folder.mkdir()
    plan, file = planned(servers((0, 1), (0, 1)) if way is bash else servers((0, 1)), "true")
    script = write(folder, [*way.emit(plan, file), LaunchFile(file.name, file.text)])
    done = run(script)
    assert (done.returncode, done.stdout) == (2, "")
    why = f"error: the name of the folder has control characters: {tmp_path}/a?[31mb"
    assert done.stderr.splitlines() == [why, "  fix: start in another folder"]


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


@pytest.mark.parametrize(
    "answer",
    [
        b"start 20260101-000000-1 4711\nover -1 ranks[$(touch${IFS}pwned)] x\n",
        b"start 20260101-000000-1 4711\nover a[$(touch${IFS}pwned)] 1 0\n",
        b"start 20260101-000000-1 a[$(touch${IFS}pwned)]\n",
        b"refused\n",
        b"over\n",
        b"refused \x1b[2J " + b"a" * 64 + b"\n",
    ],
    ids=repr,
)
def test_an_impostor_at_the_port_of_node_0_runs_nothing(tmp_path: Path, answer: bytes) -> None:
    job = python_nodes_job(tmp_path, Hosts("", tmp_path, ("127.0.0.1", "127.0.0.2")), "time.sleep(60)")
    with socket.create_server(("127.0.0.1", 0)) as impostor:
        environ = clean_environ({LINK_PORT: str(impostor.getsockname()[1])})
        command = ["bash", str(job.script), "--server", "127.0.0.2"]
        node = subprocess.Popen(command, cwd=tmp_path, env=environ, stderr=subprocess.PIPE, text=True)
        connection, _ = impostor.accept()
        with connection:
            connection.sendall(answer)
            _, err = node.communicate(timeout=300)
    assert nothing_ran(tmp_path)
    assert node.returncode == 2
    where = f"127.0.0.1 (127.0.0.1 port {environ[LINK_PORT]})"
    assert err.startswith(f"error: {where} does not prove that it knows the secret of this job: '"), err
    assert err.count("\n") == 3
    assert "\x1b" not in err


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "form", ["over {} 1 0", "over 1 {} 0", "over 1 1 {}", "start {} 1", "start 1-2 {}", "refused {} x", "{}", "over"]
)
def test_a_message_is_parsed_or_rejected_as_malformed(form: str, text: str) -> None:
    with pytest.raises(Malformed) as malformed:
        parse_from_node_0(form.format(text).encode(), 2)
    assert str(malformed.value).isprintable() or not str(malformed.value)


@pytest.mark.parametrize(
    "line",
    [
        b"failed",
        b"failed 1 2",
        b"failed 1 2 nan",
        b"failed 1 2 inf",
        b"failed 1 256 0",
        b"failed 1 2 1e9",
        b"failed -4 2 0",
        b"here 1-2",
        b"done 1",
        b"\xff",
        b"\0",
    ],
)
def test_a_message_of_a_node_is_parsed_or_rejected_as_malformed(line: bytes) -> None:
    with pytest.raises(Malformed):
        parse_from_node(line)


def test_untrusted_text_is_made_printable_and_short() -> None:
    assert printable(b"\x1b[2J\xff\n") == "\\x1b[2J\\xff\\n"
    assert printable("训练 \u202e \x9b") == "训练 \\u202e \\x9b"
    assert printable("x" * 1000) == "x" * 80 + "..."


def test_the_script_never_executes_the_name_of_a_server(tmp_path: Path) -> None:
    """Also for a handwritten plan: the comment at the top of the script names the servers."""
    job, table = planned(servers([0], [0]))
    nodes = tuple(replace(node, id=f"a\ntouch pwned_{number}\n#") for number, node in enumerate(job.nodes))
    script = write(tmp_path, bash.emit(replace(job, nodes=nodes), table))
    subprocess.run(["bash", script.name, "--help"], cwd=tmp_path, check=False, capture_output=True)
    assert not list(tmp_path.glob("pwned*"))
