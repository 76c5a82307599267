"""The text of the script for msrun: its content, its errors, and that words arrive unchanged."""

import re
import signal
import socket
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.launch.emitters import msrun
from hccl_kit.runtime.worker_env import LINK_PORT, MISLEADING, NAMES
from hccl_kit.table.model import RankTable
from tests.launch.jobs import clean_environ, finish
from tests.launch.ways import (
    assert_golden,
    assert_shellcheck,
    fake,
    nasty,
    planned,
    run,
    servers,
    words,
    write,
    write_secret,
)
from tests.ports import free_port
from tests.waiting import PATIENCE, wait_until

PLANS = {
    "one_host": servers(range(4)),
    "two_hosts": servers((4, 5), (0, 1), ids=("192.0.2.1", "node2")),
}
NEAR = servers((4, 5), (0, 1), ids=("127.0.0.1", "node2"))
"""Two hosts that can both be this one."""
MSRUN = r"""
printf '%s\n' "$@" >options
while [[ $1 != python ]]; do
    [[ $1 != --log_dir ]] || logs=$2
    shift 2
done
MS_ROLE=MS_WORKER RANK_ID=${FAKE_RANK:-0} "$@" >"$logs/worker_${FAKE_RANK:-0}.log" 2>&1
"""
"""A fake msrun in shell: pairs of options, then the program, run as one worker. It writes its words to `options`."""


def script(folder: Path, table: RankTable, *command: str) -> Path:
    fake(folder, "msrun", MSRUN)
    made = write(folder, msrun.emit(*planned(table, *command)))
    write_secret(made)
    return made


def options(folder: Path) -> dict[str, str]:
    found = (folder / "options").read_text(encoding="utf-8").splitlines()
    found = found[: found.index("python")]
    return dict(zip(found[::2], found[1::2], strict=True))


def log(folder: Path, rank: int = 0) -> bytes:
    (path,) = folder.glob(f"hccl_logs/*/worker_{rank}.log")
    return path.read_bytes()


@pytest.mark.parametrize("name", PLANS)
def test_files_match_the_golden_files(name: str, request: pytest.FixtureRequest) -> None:
    assert_golden(f"msrun/{name}", msrun.emit(*planned(PLANS[name], "python", "train.py", "--lr", "0.1")), request)


@pytest.mark.parametrize("name", PLANS)
def test_shellcheck_reports_nothing(name: str, tmp_path: Path) -> None:
    assert_shellcheck(write(tmp_path, msrun.emit(*planned(PLANS[name], "python", "a'; echo foo", "a\nb", "训练"))))


@settings(max_examples=10, deadline=None)
@given(st.lists(nasty | words, max_size=20), st.lists(nasty | words, max_size=5))
def test_every_argument_arrives_unchanged(baked: list[str], passed_on: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = script(Path(folder), PLANS["one_host"], "printf", r"%s\0", "first", *baked)
        done = run(made, "--", *passed_on)
        assert (done.returncode, done.stderr) == (0, "")
        assert log(Path(folder)).decode().split("\0") == ["first", *baked, *passed_on, ""]


def test_passes_the_options_of_msrun(tmp_path: Path) -> None:
    done = run(script(tmp_path, PLANS["one_host"], "true"))
    assert (done.returncode, done.stderr) == (0, "")
    found = options(tmp_path)
    assert 20000 <= int(found.pop("--master_port")) < 32000
    assert Path(found.pop("--log_dir")).parent == tmp_path / "hccl_logs"
    assert found == {
        "--worker_num": "4",
        "--local_worker_num": "4",
        "--master_addr": "127.0.0.1",
        "--node_rank": "0",
        "--join": "True",
        "--cluster_time_out": "300",
        "--tail_worker_log": "4",
    }


@pytest.fixture
def link_port() -> str:
    """A free port, so that jobs of parallel test runs do not interfere."""
    return str(free_port())


class TwoHosts:
    """Two simulated hosts with a folder each; rank 0 is on the first."""

    def __init__(self, folder: Path, link_port: str, *command: str) -> None:
        self.folders = [folder / "host0", folder / "host1"]
        self.link_port = link_port
        self.scripts = []
        for own in self.folders:
            own.mkdir()
            self.scripts.append(script(own, NEAR, *command))

    def run(self, *environs: dict[str, str]) -> list["subprocess.CompletedProcess[str]"]:
        """Run both scripts at once, the i-th with the i-th of `environs`."""

        def one(host: int) -> "subprocess.CompletedProcess[str]":
            own = {"FAKE_RANK": str(2 * host), LINK_PORT: self.link_port, **(environs[host] if environs else {})}
            return run(self.scripts[host], "--server", NEAR.servers[host].id, environ=own)

        with ThreadPoolExecutor() as pool:
            return list(pool.map(one, range(2)))

    def start(self, host: int) -> "subprocess.Popen[str]":
        """Start the script of one host."""
        environ = clean_environ({LINK_PORT: self.link_port})
        environ["PATH"] = f"{self.folders[host] / 'bin'}:{environ['PATH']}"
        command = ["bash", str(self.scripts[host]), "--server", NEAR.servers[host].id]
        return subprocess.Popen(
            command, cwd=self.folders[host], env=environ, stdout=-1, stderr=-1, text=True, start_new_session=True
        )


def test_each_host_gets_its_ranks_and_cards(tmp_path: Path, link_port: str) -> None:
    job = TwoHosts(tmp_path, link_port, "env")
    for done in job.run():
        assert (done.returncode, done.stderr) == (0, "")
    ports = set()
    for host, visible in enumerate(["4,5", "0,1"]):
        found = options(job.folders[host])
        assert (found["--node_rank"], found["--local_worker_num"], found["--worker_num"]) == (str(host), "2", "4")
        assert found["--master_addr"] == "127.0.0.1"
        ports.add(found["--master_port"])
        lines = log(job.folders[host], 2 * host).decode().splitlines()
        assert dict(line.split("=", 1) for line in lines if "=" in line).get("ASCEND_RT_VISIBLE_DEVICES") == visible
    assert len(ports) == 1
    assert len({path.name.rpartition(".")[0] for own in job.folders for path in own.glob("hccl_logs/*")}) == 1


def test_the_port_is_that_of_the_host_of_rank_0(tmp_path: Path, link_port: str) -> None:
    job = TwoHosts(tmp_path, link_port, "true")
    job.run({"MASTER_PORT": "14711"}, {"MASTER_PORT": "14712"})
    assert [options(own)["--master_port"] for own in job.folders] == ["14711", "14711"]


@pytest.mark.parametrize("failing", [0, 1])
def test_a_rank_that_fails_ends_both_hosts_with_its_exit_code(failing: int, tmp_path: Path, link_port: str) -> None:
    program = f"if (($FAKE_RANK == {2 * failing})); then echo last words; exit 7; else sleep 600; fi"
    done = TwoHosts(tmp_path, link_port, "bash", "-c", program).run()
    assert [one.returncode for one in done] == [7, 7]
    said = f"error: rank {2 * failing} on device {(4, 0)[failing]} of {socket.gethostname()} failed with exit code 7\n"
    assert said in done[failing].stderr
    assert done[failing].stderr.endswith("\nlast words\n")
    server = NEAR.servers[failing].id
    assert done[1 - failing].stderr == (
        f"\nended: rank {2 * failing} on server {server} failed with exit code 7; its log is there\n"
    )


def test_a_rank_that_fails_after_the_other_host_has_finished_ends_the_job(tmp_path: Path, link_port: str) -> None:
    done = TwoHosts(tmp_path, link_port, "bash", "-c", "(($FAKE_RANK == 0)) || { sleep 3; exit 7; }").run()
    assert [one.returncode for one in done] == [7, 7]
    assert done[0].stderr == "\nended: rank 2 on server node2 failed with exit code 7; its log is there\n"


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("HUP", 129)])
def test_a_signal_on_a_host_whose_ranks_have_finished_ends_both_hosts(
    name: str, code: int, tmp_path: Path, link_port: str
) -> None:
    program = "[[ $PWD == */host0 ]] || { echo ready; sleep 600; }"
    job = TwoHosts(tmp_path, link_port, "bash", "-c", program)
    processes = [job.start(host) for host in range(2)]
    assert wait_until(lambda: [*job.folders[1].glob("hccl_logs/*/worker_0.log")])
    time.sleep(1)
    processes[0].send_signal(getattr(signal, f"SIG{name}"))
    done = [finish(process) for process in processes]
    assert [one.returncode for one in done] == [code, code], done
    assert done[0].stderr.startswith(f"ended by SIG{name}; logs in ")


def test_an_msrun_that_fails_by_itself_ends_both_hosts(tmp_path: Path, link_port: str) -> None:
    job = TwoHosts(tmp_path, link_port, "sleep", "60")
    fake(job.folders[1], "msrun", "echo 'no module named x' >&2; exit 3")
    done = job.run()
    assert [one.returncode for one in done] == [3, 3]
    assert done[0].stderr.startswith("\nended: the script on server node2 ended with exit code 3; logs of this server")
    assert f"error: msrun failed on {socket.gethostname()} with exit code 3\n" in done[1].stderr


def test_hosts_with_scripts_of_different_tables_do_not_start(tmp_path: Path, link_port: str) -> None:
    job = TwoHosts(tmp_path, link_port, "true")
    (job.folders[1] / "other").mkdir()
    other = script(job.folders[1] / "other", servers((6, 7), (0, 1), ids=("127.0.0.1", "node2")), "true")
    first = job.start(0)
    refused = run(other, "--server", "node2", environ={LINK_PORT: link_port})
    first.terminate()
    _, said = first.communicate(timeout=PATIENCE)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: 127.0.0.1 refuses this node: node 0 has the table ")
    assert said.startswith("error: node2 has a different rank table, sha256 ")
    assert not [*tmp_path.glob("**/options")]


@pytest.mark.long
def test_a_missing_host_is_named(tmp_path: Path, link_port: str) -> None:
    process = TwoHosts(tmp_path, link_port, "true").start(0)
    assert process.stderr
    assert process.stderr.readline() == "waiting for node2; start this script there too\n"
    process.terminate()
    assert process.wait(PATIENCE) == 143
    process.communicate()


def test_leftover_variables_do_not_reach_a_rank(tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["one_host"], "env")
    names = {*MISLEADING, *(name for names in NAMES.values() for name in names)} - {"MASTER_PORT"}
    left_over = {**dict.fromkeys(names, "7"), "ASCEND_RT_VISIBLE_DEVICES": "0,1,2,3"}
    assert run(made, environ=left_over).returncode == 0
    seen = {line.split("=", 1)[0] for line in log(tmp_path).decode().splitlines() if "=" in line}
    assert seen & {*names, "MASTER_PORT"} == {
        *("MS_ROLE", "RANK_ID"),  # these are set by msrun itself
        "ASCEND_RT_VISIBLE_DEVICES",
    }
    done = run(made, environ={**left_over, "ASCEND_RT_VISIBLE_DEVICES": "4,5,6,7"})
    assert done.returncode == 2
    assert "ASCEND_RT_VISIBLE_DEVICES=4,5,6,7 on " in done.stderr


def test_a_port_in_use_is_reported_on_the_server_of_rank_0(tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["two_hosts"], "true")
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run(made, "--server", "192.0.2.1", environ={"MASTER_PORT": port})
    assert (done.returncode, "cannot be bound" in done.stderr) == (2, True)


@pytest.mark.parametrize("wanting", ["ip", "msrun"])
def test_a_missing_tool_is_named(wanting: str, tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["one_host"], "true")
    for tool in ("grep", "hostname", "ip", "mkdir", "od", "python", "setsid", "sleep", "stat", "tail"):
        fake(tmp_path, tool, "")
    (tmp_path / "bin" / "bash").symlink_to("/bin/bash")
    (tmp_path / "bin" / wanting).unlink()
    done = run(made, environ={"PATH": "/nowhere"})
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {wanting} is not on PATH\n  fix: ")


def test_a_host_that_is_not_in_the_table_is_refused(tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["two_hosts"], "true")
    done = run(made, "--server", "192.0.2.9")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: this host is not a server of the table: it has 192.0.2.9\n")
    assert run(script(tmp_path, PLANS["one_host"], "true"), "--server", "x").returncode == 2
    assert run(made, "--server").stderr == "error: --server needs the server_id of this host in the rank table\n"


@pytest.mark.parametrize(("command", "code", "shown"), [("exit 7", 7, "7"), ("kill -KILL $$", 137, "137 (SIGKILL)")])
def test_the_exit_code_is_that_of_the_rank(command: str, code: int, shown: str, tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["one_host"], "bash", "-c", f"echo last words; {command}")
    done = run(made, environ={"FAKE_RANK": "3"})
    assert done.returncode == code
    _, said, where, *end = done.stderr.splitlines()
    assert said == f"error: rank 3 on device 3 of {socket.gethostname()} failed with exit code {shown}"
    assert re.fullmatch(r"  the end of .*/worker_3\.log, without INFO and WARNING lines:", where)
    assert end == ["last words"]


def test_log_lines_of_mindspore_do_not_hide_the_traceback(tmp_path: Path) -> None:
    program = "import sys\ntry: 1 / 0\nfinally: print('[WARNING] ME(1,2,python): text\\n' * 99, flush=True, end='')"
    made = script(tmp_path, PLANS["one_host"], "python", "-c", program)
    done = run(made)
    assert done.returncode == 1
    assert "[WARNING]" not in done.stderr
    assert done.stderr.endswith("\nZeroDivisionError: division by zero\n")


def test_a_missing_command_is_named(tmp_path: Path) -> None:
    done = run(script(tmp_path, PLANS["one_host"], "no-such-program"))
    assert done.returncode == 127
    assert done.stderr.endswith("\nno-such-program: No such file or directory\n")


def test_a_failure_of_msrun_itself_is_shown(tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["one_host"], "true")
    fake(tmp_path, "msrun", "echo 'no module named x' >&2; exit 3")
    done = run(made)
    assert done.returncode == 3
    assert done.stderr.splitlines()[1] == f"error: msrun failed on {socket.gethostname()} with exit code 3"
    assert done.stderr.endswith("\nno module named x\n")
