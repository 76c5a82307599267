"""The text of the script for msrun: its content, its errors, and that words arrive unchanged."""

import hashlib
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.base.network import port_of_digest
from hccl_kit.launch.emitters import msrun
from hccl_kit.runtime.worker_env import MISLEADING, NAMES, SERVER
from hccl_kit.table.model import RankTable
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
MS_ROLE=MS_WORKER RANK_ID=0 "$@" >"$logs/worker_0.log" 2>&1
"""
"""A fake msrun in shell: pairs of options, then the program, run as one worker. It writes its words to `options`."""
SHOW = ("python", "-c", "import sys; print(*sys.argv[1:], sep='\\0', end='\\0')")
ENVIRON = ("python", "-c", "import os; print(*os.environ.items(), sep='\\n')")


def script(folder: Path, table: RankTable, *command: str) -> Path:
    fake(folder, "msrun", MSRUN)
    (folder / "bin" / "python").symlink_to(sys.executable)
    return write(folder, msrun.emit(*planned(table, *command)))


def options(folder: Path) -> dict[str, str]:
    found = (folder / "options").read_text(encoding="utf-8").splitlines()
    found = found[: found.index("python")]
    return dict(zip(found[::2], found[1::2], strict=True))


def log(folder: Path) -> bytes:
    (path,) = {path.resolve() for path in folder.glob("hccl_logs/*/worker_0.log")}
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
        done = run(script(Path(folder), PLANS["one_host"], *SHOW, "first", *baked), *passed_on)
        assert (done.returncode, done.stderr) == (0, "")
        assert log(Path(folder)).decode().split("\0") == ["first", *baked, *passed_on, ""]


def test_a_program_that_msrun_would_not_start_is_refused() -> None:
    for program in ("bash", "/usr/bin/python", "hccl-kit"):
        with pytest.raises(KitError, match="msrun starts programs of Python") as caught:
            msrun.emit(*planned(PLANS["one_host"], program, "train.py"))
        assert "-- python train.py" in str(caught.value.hint)
    for program in ("python", "python3", "pytest", "./train.py"):
        msrun.emit(*planned(PLANS["one_host"], program))


def test_one_server_has_all_ranks_and_a_free_port(tmp_path: Path) -> None:
    done = run(script(tmp_path, PLANS["one_host"], *SHOW))
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
        "--cluster_time_out": "600",
        "--tail_worker_log": "0",
    }


def test_each_server_gets_its_number_its_cards_and_the_port_of_the_table(tmp_path: Path) -> None:
    digest = hashlib.sha256(planned(PLANS["two_hosts"])[1].text.encode()).hexdigest()
    for node, (server, cards) in enumerate((("192.0.2.1", "4,5"), ("node2", "0,1"))):
        folder = tmp_path / server
        folder.mkdir()
        made = script(folder, PLANS["two_hosts"], *ENVIRON)
        done = run(made, environ={SERVER: server})
        assert (done.returncode, done.stderr) == (0, "")
        found = options(folder)
        assert (found["--node_rank"], found["--local_worker_num"], found["--worker_num"]) == (str(node), "2", "4")
        assert (found["--master_addr"], found["--tail_worker_log"]) == ("192.0.2.1", str(2 * node))
        assert found["--master_port"] == str(port_of_digest(digest))
        assert f"('ASCEND_RT_VISIBLE_DEVICES', '{cards}')\n" in log(folder).decode()
    assert run(made, environ={SERVER: server, "MASTER_PORT": "14711"}).returncode == 0
    assert options(folder)["--master_port"] == "14711"
    done = run(made, environ={SERVER: "192.0.2.9"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: this host matches 0 servers of the table; it has 192.0.2.9\n")


def test_leftover_variables_do_not_reach_a_rank(tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["one_host"], *ENVIRON)
    names = {*MISLEADING, *(name for names in NAMES.values() for name in names)} - {"MASTER_PORT"}
    left_over = {**dict.fromkeys(names, "7"), "ASCEND_RT_VISIBLE_DEVICES": "0,1,2,3"}
    assert run(made, environ=left_over).returncode == 0
    seen = {line.split("'")[1] for line in log(tmp_path).decode().splitlines() if line.startswith("('")}
    assert seen & names == {"MS_ROLE", "RANK_ID", "ASCEND_RT_VISIBLE_DEVICES"}  # msrun itself sets the first two
    done = run(made, environ={**left_over, "ASCEND_RT_VISIBLE_DEVICES": "4,5,6,7"})
    said = "error: ASCEND_RT_VISIBLE_DEVICES=4,5,6,7; the cards of this job are 0,1,2,3\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_a_missing_tool_is_named(tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["one_host"], *SHOW)
    (tmp_path / "bin" / "bash").symlink_to("/bin/bash")
    (tmp_path / "bin" / "msrun").unlink()
    done = run(made, environ={"PATH": "/nowhere"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "type: msrun: not found\n" in done.stderr
    assert "\nerror: a program is not on PATH\n  fix: " in done.stderr


def test_the_exit_code_is_that_of_msrun(tmp_path: Path) -> None:
    made = script(tmp_path, PLANS["one_host"], *SHOW)
    fake(tmp_path, "msrun", "echo 'no module named x' >&2; exit 3")
    done = run(made)
    (logs,) = (path for path in (tmp_path / "hccl_logs").iterdir() if not path.is_symlink())
    said = f"no module named x\nerror: msrun failed with exit code 3; logs in {logs}\n"
    assert (done.returncode, done.stderr) == (3, said)
