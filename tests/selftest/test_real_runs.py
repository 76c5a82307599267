"""Real ranks with every framework on this host: healthy, killed, stopped, repeatedly stopped, interrupted."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from hccl_kit.selftest.session import BACKENDS, ON_CARDS
from tests.places import FILES_OF_MPIRUN
from tests.selftest.jobs import PATIENCE, ended, left_behind, ranks_of, report, run, start, table
from tests.waiting import wait_until

pytestmark = pytest.mark.train

RANKS = 4


def _params() -> list[object]:
    """One framework in normal test runs, all of them in long ones."""
    return [
        pytest.param(name, marks=() if name == "mpi" else pytest.mark.long) for name in sorted({*BACKENDS} - ON_CARDS)
    ]


@pytest.fixture(params=_params())
def backend(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    pytest.importorskip(BACKENDS[name])
    return name


@pytest.mark.long
def test_a_healthy_host_has_no_fault(backend: str, tmp_path: Path) -> None:
    """Everything is measured and checked, and no fault is reported even on a busy machine."""
    options = ["--quick", "--format", "json"]
    document = report(run(table(tmp_path, RANKS), "--backend", backend, *options))
    assert document["faults"] == []
    assert [link["ranks"] for link in document["links"]] == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert all(link["bandwidth"] > 0 for link in document["links"])
    assert [compute["rank"] for compute in document["compute"]] == [0, 1, 2, 3]
    (found,) = document["collectives"]
    assert (found["operator"], found["size"], found["ranks"], found["problem"]) == ("all_reduce", 1 << 20, 4, "")


def test_no_module_of_the_current_folder_runs(backend: str, tmp_path: Path) -> None:
    """PYTHONPATH ends with a colon where set_env.sh of CANN was sourced."""
    path = table(tmp_path, 2)
    folder = tmp_path / "shared"
    for name in ("hccl_kit", "numpy"):
        (folder / name).mkdir(parents=True)
        for file in ("__init__.py", "__main__.py"):
            (folder / name / file).write_text("open('ran_here', 'w')")
    done = subprocess.run(
        [Path(sys.executable).with_name("hccl-kit"), "selftest", path, "--quick", "--backend", backend],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
        cwd=folder,
    )
    assert not (folder / "ran_here").exists()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_all_operators_are_measured(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FILES_OF_MPIRUN)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    document = report(run(table(tmp_path, 2), "--backend", backend, "--format", "json", "--slow", "0.01"))
    skipped = ["reduce_scatter", "all_to_all"] if backend == "mindspore" else []
    assert document["skipped"] == skipped
    operators = {collective["operator"] for collective in document["collectives"]}
    wanted = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"} - {*skipped}
    assert operators == wanted, document["faults"]
    assert [collective["problem"] for collective in document["collectives"]] == [""] * 4 * len(operators)
    assert list((tmp_path / "tmp").iterdir()) == []


def harmed(backend: str, folder: Path, harm: Callable[[int], None]) -> list[tuple[str, list[int]]]:
    """The faults of a run whose rank 2 is disturbed while it works."""
    process = start(table(folder, RANKS), "--backend", backend, "--quick", "--format", "json")
    try:
        assert wait_until(lambda: len(ranks_of(process)) == RANKS or process.poll() is not None, PATIENCE)
        pids = ranks_of(process)
        harm(pids[2])
        done = ended(process)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    assert left_behind(process, [*pids.values()]) == []
    return [(fault["kind"], fault["ranks"]) for fault in report(done)["faults"]]


def test_a_killed_rank_is_lost(backend: str, tmp_path: Path) -> None:
    assert harmed(backend, tmp_path, lambda pid: os.kill(pid, signal.SIGKILL)) == [("lost", [2])]


def test_a_stopped_rank_is_named(backend: str, tmp_path: Path) -> None:
    assert harmed(backend, tmp_path, lambda pid: os.kill(pid, signal.SIGSTOP)) == [("lost", [2])]


@pytest.mark.long
def test_a_repeatedly_stopped_rank_is_named(backend: str, tmp_path: Path) -> None:
    def pulses(pid: int) -> None:
        with suppress(ProcessLookupError):
            while True:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.2)
                os.kill(pid, signal.SIGCONT)
                time.sleep(0.3)

    def harm(pid: int) -> None:
        threading.Thread(target=pulses, args=(pid,), daemon=True).start()

    assert harmed(backend, tmp_path, harm) == [("stalls", [2])]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_after_an_interrupt(number: signal.Signals, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    process = start(table(tmp_path, RANKS), "--backend", "gloo")
    assert wait_until(lambda: len(ranks_of(process)) == RANKS, PATIENCE)
    pids = [*ranks_of(process).values()]
    os.kill(process.pid, number)
    done = ended(process)
    assert done.returncode in (130, -number)
    assert "Traceback" not in done.stderr
    assert left_behind(process, pids) == []


@pytest.mark.long
def test_a_run_can_be_the_baseline_of_the_next(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    file = table(tmp_path, 2)
    done = run(file, "--backend", "mpi", "--quick", "--format", "json")
    (tmp_path / "good.json").write_text(done.stdout)
    again = run(file, "--backend", "mpi", "--quick", "--baseline", tmp_path / "good.json", "--slow", "0.05")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "ok: 1 pair, 1 collective" in again.stdout


def test_a_missing_framework_is_reported(tmp_path: Path) -> None:
    """The error of Python is shown for at least one rank."""
    (tmp_path / "torch.py").write_text("raise ImportError('libnothing.so: cannot open shared object file')\n")
    environ = {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    done = run(table(tmp_path, 2), "--backend", "gloo", "--format", "json", environ=environ)
    faults = report(done)["faults"]
    assert [fault["ranks"] for fault in faults] == [[0], [1]]
    assert any("ImportError: libnothing.so" in fault["message"] for fault in faults)


def test_ranks_listen_on_loopback_only(tmp_path: Path) -> None:
    """On one host, ranks of torch listen on the loopback interface only."""
    pytest.importorskip("torch")
    process = start(table(tmp_path, 2), "--backend", "gloo", "--quick")
    assert wait_until(lambda: len(ranks_of(process)) == 2, PATIENCE)
    seen = set()
    while process.poll() is None:
        sockets = subprocess.run(["ss", "-ltnpH"], check=False, capture_output=True, text=True).stdout
        own = [f"pid={pid}," for pid in ranks_of(process).values()]
        seen |= {line.split()[3].rpartition(":")[0] for line in sockets.splitlines() if any(pid in line for pid in own)}
        time.sleep(0.3)
    ended(process)
    assert seen
    assert seen <= {"127.0.0.1", "[::1]"}
