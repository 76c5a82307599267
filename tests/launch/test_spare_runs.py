"""Jobs that continue on a spare server: on this host with a fake ssh, and on hosts of the lab with a real one."""

import hashlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

import pytest

from hccl_kit.launch.emitters import bash
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.runtime.worker_env import LINK_PORT
from hccl_kit.table import formats
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.launch.jobs import SCRIPT, TABLE, clean_environ, fake_kit, finish
from tests.launch.nodes import NodesJob, table_of
from tests.launch.spare_jobs import CRASH, CUT, FENCE, spare_job, unchecked
from tests.launch.ways import assert_shellcheck, fake, write_secret
from tests.waiting import PATIENCE, wait_until

IDS, SPARES = ("10.9.8.1", "10.9.8.2"), ("10.9.8.3", "10.9.8.4")
SSH = """
while [[ $1 == -?* && $1 != -- ]]; do case $1 in -o) shift 2 ;; *) shift ;; esac; done
address=$2
[[ ! -e down_$address ]] || { echo "ssh: connect to host $address port 22: No route to host" >&2; exit 255; }
bash -c "export SERVER_ADDRESS=$address; $3" <&0 &
while kill -0 $! 2>/dev/null; do
    [[ ! -e down_$address ]] || { kill -KILL $(pgrep -P $!); echo "Connection to $address closed" >&2; exit 255; }
    sleep 0.05
done
wait $!
"""
"""A fake ssh: every server is this host; if there is a file down_ADDRESS, the server is lost."""
PROGRAM = """
import json, os, sys, time
rank, restart = int(os.environ["RANK"]), int(os.environ.get("HCCL_KIT_RESTART", 0))
table = json.load(open(os.environ["RANK_TABLE_FILE"]))
own = [s["server_id"] for s in table["server_list"] for d in s["device"] if d["rank_id"] == os.environ["RANK"]]
print(restart, rank, own[0], os.environ["SERVER_ADDRESS"], os.environ["MASTER_ADDR"], flush=True)
"""


def make(
    folder: Path, program: str, *, ids: tuple[str, ...] = IDS, spares: tuple[str, ...] = SPARES, fence: float = 0.3
) -> NodesJob:
    """A job of two servers whose ranks run PROGRAM and `program`."""
    table = table_of(ids)
    text = formats.write(table)
    (folder / TABLE).write_text(text, encoding="utf-8")
    (folder / "program.py").write_text(f"{PROGRAM}\n{program}\n")
    command = (sys.executable, "-u", str(folder / "program.py"))
    made = bash.script(plan(table, command), TableFile(TABLE, text), unchecked(spares))
    assert made.count(FENCE) == 1
    (folder / SCRIPT).write_text(made.replace(FENCE, f"\nFENCE = {fence}\n"), encoding="utf-8")
    return NodesJob(folder, Hosts("", folder, ids))


def start(job: NodesJob, *options: str, environ: Mapping[str, str] = MappingProxyType({})) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        ["bash", SCRIPT, "--ssh", *options],
        cwd=job.folder,
        env=clean_environ({**environ, "HCCL_KIT_SSH": str(fake(job.folder, "ssh", SSH))}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def lines(job: NodesJob, attempt: int) -> list[str]:
    """The output of the ranks of an attempt, by rank."""
    folder = job.logs / f"restart_{attempt}" if attempt else job.logs
    return [path.read_text() for path in sorted(folder.glob("rank_?.log"))]


def lose(job: NodesJob, address: str, attempt: int = 0) -> None:
    """Disconnect a server when all ranks of an attempt have started."""
    assert wait_until(lambda: sum(line.endswith("\n") for line in lines(job, attempt)) == 4)
    (job.folder / f"down_{address}").touch()


WAIT = "time.sleep(0 if restart else 600)"


def test_shellcheck_reports_nothing_for_a_script_with_spares(tmp_path: Path) -> None:
    assert_shellcheck(make(tmp_path, "").script)


@pytest.mark.parametrize("place", [0, 1])
def test_a_spare_has_the_ranks_of_the_lost_server(tmp_path: Path, place: int) -> None:
    job = make(tmp_path, WAIT)
    process = start(job, "--", "an argument")
    lose(job, IDS[place])
    done = finish(process)
    assert done.returncode == 0, done.stderr
    assert f"\nspare 10.9.8.3 takes the place of server {IDS[place]}; left: 10.9.8.4\nrestarting in " in done.stderr
    servers = [*IDS]
    servers[place] = SPARES[0]
    expected = [f"1 {rank} {servers[rank // 2]} {servers[rank // 2]} {servers[0]}\n" for rank in range(4)]
    assert lines(job, 1) == expected
    assert job.processes() == []


def test_lost_and_absent_spares_are_replaced_until_none_is_left(tmp_path: Path) -> None:
    """The first spare never answers; the second is lost."""
    job = make(tmp_path, "time.sleep(600)")
    (tmp_path / "down_10.9.8.3").touch()
    process = start(job)
    lose(job, IDS[1])
    lose(job, "10.9.8.4", attempt=1)
    done = finish(process)
    assert done.returncode == 2
    assert "spare 10.9.8.3 takes the place of server 10.9.8.2; left: 10.9.8.4\n" in done.stderr
    assert "spare 10.9.8.4 takes the place of server 10.9.8.3; left: none\n" in done.stderr
    assert done.stderr.endswith("giving up: no spare is left for server 10.9.8.4\n")
    assert job.processes() == []


def test_a_server_that_does_not_answer_at_the_start_is_replaced_at_once(tmp_path: Path) -> None:
    job = make(tmp_path, "", fence=600)
    (tmp_path / f"down_{IDS[1]}").touch()
    done = finish(start(job))
    assert done.returncode == 0, done.stderr
    assert "restarting in 0 s\n" in done.stderr
    assert [line.split()[:3] for line in lines(job, 0)][3] == ["0", "3", "10.9.8.3"]


def test_a_rank_that_fails_uses_no_spare(tmp_path: Path) -> None:
    job = make(tmp_path, "sys.exit(7 if rank == 2 else 0)")
    done = finish(start(job))
    assert done.returncode == 7
    assert "spare" not in done.stderr


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_a_signal_before_the_restart_ends_the_job(tmp_path: Path, name: str) -> None:
    job = make(tmp_path, "time.sleep(600)", fence=600)
    process = start(job)
    lose(job, IDS[1])
    assert process.stderr
    while not re.fullmatch(
        r"restarting in (5\d\d|600) s, when no rank is left on a lost server\n", process.stderr.readline()
    ):
        assert process.poll() is None
    number = getattr(signal, f"SIG{name}")
    process.send_signal(number)
    assert finish(process).returncode == 128 + number
    assert job.processes() == []
    assert lines(job, 1) == []


def test_a_server_whose_preflight_fails_is_replaced_and_each_server_is_checked_once(tmp_path: Path) -> None:
    """Preflight fails on the second server and the first spare; after a later loss, only the new spare is checked."""
    bad = 'case "$*" in *"--server 10.9.8.2 "* | *"--server 10.9.8.3 "*) echo "HK6: bad card"; exit 1 ;; esac'
    environ = fake_kit(tmp_path, bad)
    job = make(tmp_path, "", spares=SPARES)
    done = finish(start(job, "--preflight", environ={"PATH": environ["PATH"]}))
    assert done.returncode == 0, done.stderr
    assert "[10.9.8.2] HK6: bad card\n[10.9.8.2] error: preflight finds errors on server 10.9.8.2\n" in done.stderr
    assert "error: preflight finds errors on server 10.9.8.3\n" in done.stderr
    assert [line.split()[2] for line in lines(job, 0)] == ["10.9.8.1", "10.9.8.1", "10.9.8.4", "10.9.8.4"]
    asked = re.findall(r"^preflight (\S+) --server (\S+) --quiet$", (tmp_path / "asked").read_text(), re.MULTILINE)
    assert {server for _, server in asked} == {"10.9.8.1", "10.9.8.2", "10.9.8.3", "10.9.8.4"}
    (new,) = {table for table, server in asked if server == "10.9.8.4"}
    digest = hashlib.sha256(Path(new).read_bytes()).hexdigest()
    assert Path(new).name == f"table-{digest[:12]}.json"


def test_without_a_spare_that_passes_the_job_does_not_start(tmp_path: Path) -> None:
    environ = fake_kit(tmp_path, '[ "$1" != preflight ] || exit 3')
    job = make(tmp_path, "", spares=SPARES[:1])
    done = finish(start(job, "--preflight", environ={"PATH": environ["PATH"]}))
    assert done.returncode == 3
    assert "error: hccl-kit preflight could not check server 10.9.8.1: exit code 3\n" in done.stderr
    assert "\ngiving up: no spare is left for server 10.9.8." in done.stderr
    assert job.processes() == []


@pytest.mark.parametrize(
    "pair",
    ["10.9.8.2", "10.9.8.9=10.9.8.3", "10.9.8.2=10.9.8.9", "10.9.8.2=10.9.8.1", "=", "a[$(touch hacked)]=b"],
)
def test_a_replacement_with_an_unknown_server_or_spare_is_refused(tmp_path: Path, pair: str) -> None:
    job = make(tmp_path, "")
    done = finish(start(job, "--replace", pair))
    assert done.returncode == 2
    assert done.stderr == (
        f"error: --replace is '{pair}'; accepted: SERVER=SPARE\n"
        "  servers of the table: 10.9.8.1 10.9.8.2\n  spares that are left: 10.9.8.3 10.9.8.4\n"
    )
    assert not (tmp_path / "hacked").exists()


def test_servers_started_by_hand_must_have_the_same_replacement(tmp_path: Path) -> None:
    job = make(tmp_path, "", ids=("127.0.0.1", "127.0.0.2"), spares=("127.0.0.3",))
    write_secret(job.script)
    environ = {"SERVER_ADDRESS": "here", LINK_PORT: "21991"}

    def by_hand(server: str, *options: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["bash", SCRIPT, "--server", server, *options],
            cwd=tmp_path,
            env=clean_environ(environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    pair = ("--replace", "127.0.0.2=127.0.0.3")
    done = [finish(process) for process in (by_hand("127.0.0.1", *pair), by_hand("127.0.0.3", *pair))]
    assert [one.returncode for one in done] == [0, 0], done
    assert [line.split()[2] for line in lines(job, 0)] == ["127.0.0.1", "127.0.0.1", "127.0.0.3", "127.0.0.3"]
    first = by_hand("127.0.0.1", *pair)
    late = finish(by_hand("127.0.0.2"))  # it is not told that it was replaced
    assert late.returncode == 2
    assert "error: 127.0.0.1 refuses this node: node 0 has the table " in late.stderr
    first.terminate()
    finish(first)


def test_a_server_that_creates_another_table_does_not_start(tmp_path: Path) -> None:
    job = make(tmp_path, "")
    options = ["--server", "10.9.8.3", "--replace", "10.9.8.2=10.9.8.3", "--table-sha256", "0" * 64]
    done = subprocess.run(
        ["bash", SCRIPT, *options], check=False, cwd=tmp_path, env=clean_environ(), capture_output=True, text=True
    )
    assert done.returncode == 2
    (table,) = (tmp_path / "hccl_logs").glob("*.json")
    assert done.stderr == (
        f"error: the table with the spares is different on this server: {table}\n  expected sha256 {'0' * 64}\n"
        f"  found    sha256 {hashlib.sha256(table.read_bytes()).hexdigest()}\n"
        "  fix: copy script and table of the first server here\n"
    )
    assert job.processes() == []


def test_without_spares_their_options_are_passed_to_the_command(tmp_path: Path) -> None:
    job = make(tmp_path, "print(sys.argv[1:])", spares=())
    done = finish(start(job, "--preflight", "--replace", "a"))
    assert done.returncode == 0, done.stderr
    assert [line.splitlines()[1] for line in lines(job, 0)] == ["['--preflight', '--replace', 'a']"] * 4


@pytest.fixture
def lab() -> Iterator[Hosts]:
    with hosts(3) as made:
        yield made


@needs_hosts
@pytest.mark.long
@pytest.mark.parametrize("how", [CUT, CRASH])
def test_a_job_that_loses_a_host_ends_with_the_parameters_of_an_undisturbed_one(
    tmp_path: Path, lab: Hosts, how: str
) -> None:
    """The host is really lost; waits until its ranks have ended."""
    results = []
    for is_disturbed in (False, True):
        folder = tmp_path / str(is_disturbed)
        folder.mkdir()
        with spare_job(folder, lab, 2) as job:
            process = job.begin(steps=60)
            if is_disturbed:
                assert wait_until(partial(job.step, 0))
                job.lose(1, how)
            assert process.wait(timeout=PATIENCE) == 0, job.screen
            assert job.left() == []
            results.append(job.results())
    assert [job.where(1)[rank]["host"] for rank in range(4)] == ["node1", "node1", "node3", "node3"]
    assert results[0] == results[1]
    assert "none" not in results[0]
