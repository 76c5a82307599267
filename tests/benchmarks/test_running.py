"""A benchmark that fails, hangs or lacks a package has a row with the reason."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.registry import BENCHMARKS, SEPARATE, Benchmark
from benchmarks.running import rows_of
from tests.places import ROOT
from tests.waiting import PATIENCE, wait_until


def made(module: str, *needs: str, seconds: int = 240) -> Benchmark:
    return Benchmark(module, "a test", "a peer", needs, seconds, f"tests.benchmarks.{module}")


def test_a_benchmark_that_fails_keeps_its_rows() -> None:
    rows, failed = rows_of(made("failing"), full=True)
    assert failed
    assert [(row.what, row.ratio) for row in rows] == [("first, full True", 0.5), ("a test", None)]
    assert rows[-1].missing == "failed: exit code 1: out of luck"


def test_a_quick_run_is_not_full() -> None:
    assert rows_of(made("failing"), full=False)[0][0].what == "first, full False"


def test_a_missing_package_is_not_a_failure() -> None:
    rows, failed = rows_of(made("failing", "json", "no_such_package"), full=False)
    assert not failed
    assert [row.missing.split(";")[0] for row in rows] == ["no_such_package not installed"]


def test_a_benchmark_that_hangs_is_killed_with_its_child_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDLESS", str(tmp_path / "pid"))
    rows, failed = rows_of(made("endless", seconds=20), full=True)
    assert failed
    assert [row.what for row in rows] == ["before", "a test"]
    assert rows[-1].missing == "failed: not done after 20 s"
    assert ends(tmp_path / "pid")


def test_sigterm_ends_the_benchmark_that_runs(tmp_path: Path) -> None:
    code = """
import sys
from benchmarks import __main__ as program
from benchmarks.registry import Benchmark
program.BENCHMARKS = (Benchmark("endless", "a test", "a peer", module="tests.benchmarks.endless"),)
sys.argv = ["benchmarks"]
program.main()
"""
    environ = {**os.environ, "ENDLESS": str(tmp_path / "pid"), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", code], env=environ, stderr=subprocess.DEVNULL)
    assert wait_until((tmp_path / "pid").exists)
    process.terminate()
    assert process.wait(timeout=PATIENCE) == 143
    assert ends(tmp_path / "pid")


def ends(file: Path) -> bool:
    """Whether the process whose id is in the file ends soon."""
    stat = Path(f"/proc/{file.read_text(encoding='utf-8')}/stat")
    return wait_until(lambda: not runs(stat))


def runs(stat: Path) -> bool:
    with suppress(OSError):
        return stat.read_text(encoding="utf-8").split()[2] != "Z"
    return False


def test_every_program_with_a_command_line_is_run_or_listed() -> None:
    """The others are the reference side of a benchmark, which starts them with its own arguments."""
    programs = {
        path.stem
        for path in (ROOT / "benchmarks").glob("*.py")
        if ".parse_args(" in path.read_text(encoding="utf-8") or path.stem == "startup"
    }
    helpers = {"__main__", "real_faults_program"} & programs
    assert programs - helpers == {benchmark.name for benchmark in BENCHMARKS} | SEPARATE.keys()


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=lambda benchmark: benchmark.name)
def test_every_benchmark_has_rows(benchmark: Benchmark) -> None:
    text = (ROOT / "benchmarks" / f"{benchmark.name}.py").read_text(encoding="utf-8")
    assert "\ndef rows(*, full: bool) -> Iterator[Row]:\n" in text
    assert benchmark.program == f"benchmarks.{benchmark.name}"
