"""Starting all servers over a fake ssh on PATH, which runs the command on this host."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from hccl_kit.launch.emitters import bash
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.payload import ssh_command
from hccl_kit.launch.payload.ssh_command import Node, Variables, remote_command
from hccl_kit.launch.plan import plan
from hccl_kit.launch.shell import program_text
from hccl_kit.runtime.worker_env import KEY_FILE, LINK_PORT, MISLEADING
from hccl_kit.table import formats
from tests.lab.hosts import Hosts
from tests.launch.jobs import SCRIPT, TABLE, clean_environ
from tests.launch.nodes import python_nodes_job, table_of
from tests.waiting import PATIENCE, wait_until

IDS = ("127.0.0.1", "127.0.0.2")
NONE = Variables({}, {})
SSH = """#!/bin/bash
while [[ $1 == -?* && $1 != -- ]]; do case $1 in -o | -F) shift 2 ;; *) shift ;; esac; done
[[ $1 == -- ]] || exit 255
address=$2; shift 2
[[ $address != *.66 ]] || { echo "ssh: connect to host $address port 22: No route to host" >&2; exit 255; }
echo "$1" >>"${0%/*}/commands"
exec env -i HOME=/ bash -c "$1"
"""


@pytest.fixture
def ssh(tmp_path: Path) -> str:
    path = tmp_path / "fake ssh"
    path.write_text(SSH)
    path.chmod(0o755)
    return f"'{path}' -F 'a file'"


def start(
    folder: Path,
    ssh: str,
    program: str,
    *arguments: str,
    ids: tuple[str, ...] = IDS,
    environ: Mapping[str, str] = MappingProxyType({}),
) -> "subprocess.CompletedProcess[str]":
    python_nodes_job(folder, Hosts("", folder, ids), program)
    return subprocess.run(
        ["bash", SCRIPT, "--ssh", *arguments],
        cwd=folder,
        env=clean_environ({"HCCL_KIT_SSH": ssh, **environ}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_variables_that_ranks_need_are_passed_to_the_servers(tmp_path: Path, ssh: str) -> None:
    names = ("PATH", "LD_LIBRARY_PATH", "HCCL_CONNECT_TIMEOUT", "HCCL_IF_IP", "SECRET")
    program = f"print(*[os.environ.get(name, '') for name in {names}], sep='|')"
    values = {"LD_LIBRARY_PATH": "/a b:'c'", "HCCL_CONNECT_TIMEOUT": "600", "HCCL_IF_IP": "10.0.0.1", "SECRET": "x"}
    done = start(tmp_path, ssh, program, environ=values)
    assert done.returncode == 0, done.stderr
    logs = [(tmp_path / "hccl_logs" / "latest" / f"rank_{rank}.log").read_text() for rank in range(4)]
    assert logs == [f"{clean_environ()['PATH']}|/a b:'c'|600||\n"] * 4


@pytest.mark.long
def test_a_server_that_does_not_answer_is_named_and_ends_the_job(tmp_path: Path, ssh: str) -> None:
    done = start(tmp_path, ssh, "time.sleep(60)", ids=(*IDS, "127.0.0.66"))
    assert done.returncode == 2
    why = "ssh: connect to host 127.0.0.66 port 22: No route to host"
    assert f"error: server 127.0.0.66 does not answer or was lost: {why}" in done.stderr.splitlines()


def test_the_last_output_of_ssh_is_printable(tmp_path: Path) -> None:
    path = tmp_path / "hostile-ssh"
    path.write_text("#!/bin/bash\nprintf 'no \\e]0;way\\a\\n' >&2; exit 255\n")
    path.chmod(0o755)
    done = start(tmp_path, str(path), "")
    assert done.returncode == 2
    assert "does not answer or was lost: no \\x1b]0;way\\x07\n" in done.stderr


def test_without_ssh_an_error_names_it(tmp_path: Path) -> None:
    done = start(tmp_path, "no-such-ssh", "")
    assert (done.returncode, done.stderr) == (2, "error: no-such-ssh: No such file or directory\n")


def test_an_ssh_command_that_cannot_be_parsed_is_refused(tmp_path: Path) -> None:
    done = start(tmp_path, "ssh -F 'config", "")
    assert (done.returncode, done.stderr) == (2, 'error: HCCL_KIT_SSH is "ssh -F \'config": No closing quotation\n')


def test_output_lines_are_prefixed_with_the_server(tmp_path: Path, ssh: str) -> None:
    done = start(tmp_path, ssh, "print('rank', rank)\nif rank == 3: time.sleep(0.5); sys.exit(5)\ntime.sleep(60)")
    assert done.returncode == 5
    assert "rank 0\n" in done.stdout
    assert f"[127.0.0.2] error: rank 3 on device 1 of {os.uname().nodename} failed with exit code 5\n" in done.stderr
    assert done.stderr.endswith("[127.0.0.2] rank 3\n")


@pytest.mark.parametrize("number", [9, 40])
def test_an_ssh_that_is_killed_is_reported_and_ends_the_job(tmp_path: Path, number: int) -> None:
    path = tmp_path / "killed-ssh"
    path.write_text(f"#!/bin/bash\nkill -{number} $$; sleep 60\n")
    path.chmod(0o755)
    done = start(tmp_path, str(path), "")
    assert done.returncode == 2
    assert f"error: server 127.0.0.1 does not answer or was lost: its ssh was ended by signal {number}\n" in done.stderr


@pytest.mark.long
def test_a_terminal_that_takes_no_output_does_not_end_the_job(tmp_path: Path, ssh: str) -> None:
    program = "if rank == 0: print('x' * 500_000, flush=True)\ntime.sleep(12)\nopen(f'ended_{rank}', 'w').close()"
    python_nodes_job(tmp_path, Hosts("", tmp_path, IDS), program)
    with subprocess.Popen(
        ["bash", SCRIPT, "--ssh"],
        cwd=tmp_path,
        env=clean_environ({"HCCL_KIT_SSH": ssh}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until(lambda: len([*tmp_path.glob("ended_*")]) == 4, 40)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err, out.count("x")) == (0, "", 500_000)


def test_exit_code_255_of_a_rank_is_not_reported_as_a_failure_of_ssh(tmp_path: Path, ssh: str) -> None:
    done = start(tmp_path, ssh, "if rank == 3: time.sleep(0.5); sys.exit(-1)\ntime.sleep(60)")
    assert done.returncode == 255
    assert f"error: rank 3 on device 1 of {os.uname().nodename} failed with exit code 255\n" in done.stderr
    assert "does not answer" not in done.stderr
    assert ssh_command.OWN_CODE not in done.stderr


OF_PROGRAMS = {
    **{"PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True", "TASK_QUEUE_ENABLE": "2", "CPU_AFFINITY_CONF": "1"},
    **{"ATB_MATMUL_SHUFFLE_K_ENABLE": "1", "CUDA_DEVICE_MAX_CONNECTIONS": "1", "STREAMS_PER_DEVICE": "32"},
    **{"HF_HOME": "/data/it's", "TOKENIZERS_PARALLELISM": "false", "HCCL_BUFFSIZE": "200", "LC_ALL": "C.UTF-8"},
}
OF_USER = {"OWN": "a\nb 'c' \\x41 %s $HOME \u00e9", "own_2": "x", "EMPTY": ""}
SECRETS = {"HF_TOKEN": "hf_secret", "https_proxy": "http://me:secret@proxy:3128"}


def test_variables_reach_the_ranks_on_other_servers_and_secrets_no_command_line(tmp_path: Path, ssh: str) -> None:
    left = {**dict.fromkeys(MISLEADING, "7"), "WANDB_API_KEY": "secret", "MINE": "1", "LD_PRELOAD": ""}
    told = "print(json.dumps(dict(os.environ)))"
    given = {**OF_PROGRAMS, **OF_USER, **SECRETS}
    asked = ["--export", "HF_TOKEN,OWN", f"--export={','.join(sorted(OF_USER.keys() - {'OWN'}))}"]
    done = start(tmp_path, ssh, told, *asked, environ={**left, **given, "HCCL_IF_IP": "10.9.9.9"})
    assert (done.returncode, done.stderr) == (
        0,
        "note: not passed on to the other servers: LD_PRELOAD, MINE, WANDB_API_KEY"
        " (--export NAME,... passes variables on)\n",
    )
    for rank in range(4):
        log = (tmp_path / "hccl_logs" / "latest" / f"rank_{rank}.log").read_text()
        environ = json.loads(log)
        assert {name: environ.get(name) for name in given} == given
        assert not environ.keys() & {*left, "HCCL_IF_IP"}
    assert "secret" not in (tmp_path / "commands").read_text()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("HF_TOKEN=hf_secret", "--export is 'HF_TOKEN'; accepted: names"),
        ("A B", "--export is 'A B'; accepted: names"),
        ("NOT_SET", "--export names NOT_SET, which this shell does not export"),
        ("RANK", "--export names RANK, which is set or removed on each server"),
        ("NNODES", "--export names NNODES, which is set or removed on each server"),
    ],
)
def test_what_export_cannot_pass_on_is_an_error(tmp_path: Path, ssh: str, option: str, message: str) -> None:
    done = start(tmp_path, ssh, "", "--export", option, environ={"RANK": "1", "NNODES": "2"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {message}\n  fix: ")
    assert "hf_secret" not in done.stderr
    assert not (tmp_path / "commands").exists()


def test_a_long_list_of_variables_is_cut(tmp_path: Path, ssh: str) -> None:
    done = start(tmp_path, ssh, "", environ={f"OWN_{number:02}": "" for number in range(25)})
    (line,) = done.stderr.splitlines()
    assert line.endswith("OWN_09 and 15 more (--export NAME,... passes variables on)")


def test_a_server_without_the_script_reports_the_missing_file(tmp_path: Path) -> None:
    """Runs the line that the remote shell is given."""
    command = remote_command(
        "/gone/ascend.sh", str(tmp_path), Node("the 'one'", "x"), "1-2", ["--", "a b"], variables=NONE
    )
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: the 'one' has no /gone/ascend.sh in {tmp_path}; copy it to the same path on every server\n"
    )


@pytest.mark.parametrize("text", ["it's", "$(touch hacked)", "a\nb", "`id`", "-n", ""])
def test_every_word_arrives_unchanged(tmp_path: Path, text: str) -> None:
    script = tmp_path / "script.sh"
    script.write_text('printf "%s\\0" "$@"')
    command = remote_command(str(script), str(tmp_path), Node(f"node {text}", "x"), "1-2", ["--", text], variables=NONE)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.split("\0") == ["--lifeline", "--run", "1-2", "--server", f"node {text}", "--", text, ""]
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("address", ["-oProxyCommand=touch hacked", "a=b", "rack 1", "$(touch hacked)", "a\nb", ""])
def test_an_invalid_address_is_not_given_to_ssh(tmp_path: Path, address: str) -> None:
    source = program_text("ssh_start")
    environ = clean_environ({"HCCL_KIT_SSH": "touch hacked"})
    command = [sys.executable, "-I", "-c", source, "/x/ascend.sh", "/x/t.json", "0", "", "", "2", "0", "0"]
    command += ["n1", "n2", "10.0.0.1", address]
    done = subprocess.run(command, check=False, cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        f"error: server 'n2' has no address for ssh: {address!r}",
        '  fix: add "host_ip", an address of that host, to it in the table',
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a=b", "--", "-oProxyCommand=touch hacked", "--ssh"])
def test_a_server_of_any_name_is_started_by_its_address(tmp_path: Path, ssh: str, name: str) -> None:
    table = table_of(IDS)
    first, second = table.servers
    table = table._replace(servers=(first, second._replace(id=name, extra={"host_ip": IDS[1]})))
    text = formats.write(table)
    (tmp_path / TABLE).write_text(text, encoding="utf-8")
    script = bash.script(plan(table, ("true",)), TableFile(TABLE, text))
    (tmp_path / SCRIPT).write_text(script, encoding="utf-8")
    done = subprocess.run(
        ["bash", SCRIPT, "--ssh"],
        check=False,
        cwd=tmp_path,
        env=clean_environ({"HCCL_KIT_SSH": ssh}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("hccl_logs/latest/rank_*.log"))) == 4
    assert not (tmp_path / "hacked").exists()


def test_over_ssh_no_port_is_open_and_no_secret_is_read(tmp_path: Path, ssh: str) -> None:
    with socket.create_server(("", 0)) as taken:
        environ = {LINK_PORT: str(taken.getsockname()[1]), KEY_FILE: "/no/such/file"}
        done = start(tmp_path, ssh, "print('rank', rank)", environ=environ)
    assert (done.returncode, done.stderr) == (0, "")


def test_output_of_a_rank_is_not_parsed_as_a_message(tmp_path: Path, ssh: str) -> None:
    """All of it is shown, although the job ends right after it."""
    lines = [f"{'0' * 32} failed 0 9 0", "failed 0 9 0", "over 0 9 0", "done", "here 1-2 7", "no line break"]
    program = f"""
if rank == 0:
    print({chr(10).join(lines)!r}, end="", flush=True)
    open("printed", "w").close()
while rank != 3 or not os.path.exists("printed"):
    time.sleep(0.01)
sys.exit(4)
"""
    done = start(tmp_path, ssh, program)
    assert done.returncode == 4
    of_first = [line for line in done.stdout.splitlines() if not line.startswith(f"[{IDS[1]}] ")]
    assert of_first[1:] == lines, done.stdout
