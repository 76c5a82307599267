"""The text of the script for msrun: what it holds, what it refuses, and that words arrive unchanged."""

import re
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.launch import msrun
from hccl_kit.rank_table import RankTable
from hccl_kit.worker_env import MISLEADING, NAMES
from tests.launch.ways import assert_golden, assert_shellcheck, fake, nasty, planned, run, servers, words, write

PLANS = {
    "one_host": servers(range(4)),
    "two_hosts": servers((4, 5), (0, 1), ids=("192.0.2.1", "node2")),
}
MSRUN = r"""
printf '%s\n' "$@" >options
while [[ $1 != python ]]; do
    [[ $1 != --log_dir ]] || logs=$2
    shift 2
done
MS_ROLE=MS_WORKER RANK_ID=${FAKE_RANK:-0} "$@" >"$logs/worker_${FAKE_RANK:-0}.log" 2>&1
"""
"""msrun as a shell sees it: options by twos, then the program, here as one worker. It leaves its words in `options`."""


def script(folder: Path, table: RankTable, *command: str) -> Path:
    fake(folder, "msrun", MSRUN)
    return write(folder, msrun.emit(*planned(table, *command)))


def options(folder: Path) -> dict[str, str]:
    found = (folder / "options").read_text(encoding="utf-8").splitlines()
    found = found[: found.index("python")]
    return dict(zip(found[::2], found[1::2], strict=True))


def log(folder: Path, rank: int = 0) -> bytes:
    (path,) = folder.glob(f"hccl_logs/*/worker_{rank}.log")
    return path.read_bytes()


@pytest.mark.parametrize("name", PLANS)
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    assert_golden(f"msrun/{name}", msrun.emit(*planned(PLANS[name], "python", "train.py", "--lr", "0.1")), request)


@pytest.mark.parametrize("name", PLANS)
def test_shellcheck_has_nothing_to_say(name: str, tmp_path: Path) -> None:
    assert_shellcheck(write(tmp_path, msrun.emit(*planned(PLANS[name], "python", "a'; echo foo", "a\nb", "训练"))))


@settings(max_examples=10, deadline=None)
@given(st.lists(nasty | words, max_size=20), st.lists(nasty | words, max_size=5))
def test_every_argument_arrives_unchanged(baked: list[str], passed_on: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = script(Path(folder), PLANS["one_host"], "printf", r"%s\0", "first", *baked)
        done = run(made, "--", *passed_on)
        assert (done.returncode, done.stderr) == (0, "")
        assert log(Path(folder)).decode().split("\0") == ["first", *baked, *passed_on, ""]


def test_what_msrun_is_told(tmp_path: Path) -> None:
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


def test_a_host_finds_itself_and_takes_its_cards(tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["two_hosts"], "env")
    for index, (server, rank, visible) in enumerate([("192.0.2.1", 0, "4,5"), ("node2", 2, None)]):
        done = run(made, environ={"HCCL_KIT_SERVER": server, "FAKE_RANK": str(rank)})
        assert (done.returncode, done.stderr) == (0, "")
        found = options(tmp_path)
        assert (found["--node_rank"], found["--local_worker_num"], found["--worker_num"]) == (str(index), "2", "4")
        assert found["--master_addr"] == "192.0.2.1"
        seen = dict(line.split("=", 1) for line in log(tmp_path, rank).decode().splitlines() if "=" in line)
        assert seen.get("ASCEND_RT_VISIBLE_DEVICES") == visible


def test_all_hosts_take_one_port(tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["two_hosts"], "true")
    ports = set()
    for server in ("192.0.2.1", "node2"):
        run(made, "--server", server)
        ports.add(options(tmp_path)["--master_port"])
    assert len(ports) == 1
    run(made, "--server", "node2", environ={"MASTER_PORT": "4711"})
    assert options(tmp_path)["--master_port"] == "4711"


def test_nothing_left_over_reaches_a_rank(tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["one_host"], "env")
    names = {*MISLEADING, *(name for names in NAMES.values() for name in names)} - {"MASTER_PORT"}
    assert run(made, environ=dict.fromkeys(names, "7")).returncode == 0
    seen = {line.split("=", 1)[0] for line in log(tmp_path).decode().splitlines() if "=" in line}
    assert seen & {*names, "MASTER_PORT"} == {"MS_ROLE", "RANK_ID"}  # these are of msrun itself


@pytest.mark.parametrize("host", [0, 1])
def test_a_port_that_is_taken_is_said_where_rank_0_is(host: int, tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["two_hosts"], "true")
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run(made, environ={"HCCL_KIT_SERVER": ("192.0.2.1", "node2")[host], "MASTER_PORT": port})
    assert done.returncode == (2, 0)[host]
    assert ("cannot be bound" in done.stderr) == (host == 0)


@pytest.mark.parametrize("wanting", ["ip", "msrun"])
def test_a_program_that_is_missing_is_named(wanting: str, tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["one_host"], "true")
    for tool in ("grep", "hostname", "ip", "mkdir", "python", "setsid", "sleep", "tail"):
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
    assert done.stderr.startswith("error: this host is no server of the table: it has 192.0.2.9\n")
    assert run(script(tmp_path, PLANS["one_host"], "true"), "--server", "x").returncode == 2
    assert run(made, "--server").stderr == "error: --server needs the server_id that the rank table gives this host\n"


@pytest.mark.parametrize(("command", "code", "shown"), [("exit 7", 7, "7"), ("kill -KILL $$", 137, "137 (SIGKILL)")])
def test_the_exit_code_is_that_of_the_rank(command: str, code: int, shown: str, tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["one_host"], "bash", "-c", f"echo last words; {command}")
    done = run(made, environ={"FAKE_RANK": "3"})
    assert done.returncode == code
    _, said, where, *end = done.stderr.splitlines()
    assert said == f"error: rank 3 on device 3 of {socket.gethostname()} failed with exit code {shown}"
    assert re.fullmatch(r"  the end of .*/worker_3\.log, without what MindSpore notes on its way:", where)
    assert end == ["last words"]


def test_what_mindspore_notes_does_not_hide_the_traceback(tmp_path: Path) -> None:
    program = "import sys\ntry: 1 / 0\nfinally: print('[WARNING] ME(1,2,python): text\\n' * 99, flush=True, end='')"
    made = script(tmp_path, PLANS["one_host"], "python", "-c", program)
    done = run(made)
    assert done.returncode == 1
    assert "[WARNING]" not in done.stderr
    assert done.stderr.endswith("\nZeroDivisionError: division by zero\n")


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = run(script(tmp_path, PLANS["one_host"], "no-such-program"))
    assert done.returncode == 127
    assert done.stderr.endswith("\nno-such-program: No such file or directory\n")


def test_an_msrun_that_fails_by_itself_is_shown(tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["one_host"], "true")
    fake(tmp_path, "msrun", "echo 'no module named x' >&2; exit 3")
    done = run(made)
    assert done.returncode == 3
    assert done.stderr.splitlines()[1] == f"error: msrun failed on {socket.gethostname()} with exit code 3"
    assert done.stderr.endswith("\nno module named x\n")
