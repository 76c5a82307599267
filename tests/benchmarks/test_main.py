"""`python -m benchmarks` as a user runs it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as program
from benchmarks.registry import Benchmark
from benchmarks.table import BEGIN, END, PageError
from tests.places import ROOT


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


def test_runs_one_benchmark() -> None:
    done = start("--only", "startup")
    assert (done.returncode, done.stderr) == (0, "1 of 1: startup, start of the programs\n")
    name, head, table = done.stdout.split("\n\n")
    assert name.startswith("### ")
    assert re.fullmatch(r"Quick run on \d+ cores, load of the machine [\d.]+ to [\d.]+\. Python .+", head)
    rows = [line.split(" | ") for line in table.splitlines()[2:]]
    assert [row[0] for row in rows] == [
        "| hccl-gen --help, processor time",
        "| hccl-check of 8 devices, processor time",
    ]
    for row in rows:
        ours, peers, ratio = (float(re.match(r"[\d.]+", cell)[0]) for cell in (row[1], row[3], row[4]))  # type: ignore[index]
        assert ours / peers == pytest.approx(ratio, rel=0.02)
        assert 1 < ratio < 20


def test_lists_the_benchmarks() -> None:
    done = start("--list")
    assert done.returncode == 0
    assert "crnn_vgg7           training step of CRNN VGG7, against PyTorch\n" in done.stdout
    assert "planted_faults" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--only", "nothing"), "invalid choice: 'nothing'"),
        (("--only", "startup", "--write"), "not allowed with argument"),
        (("--quick", "--full"), "not allowed with argument"),
    ],
)
def test_rejects_an_invalid_command_line(arguments: tuple[str, ...], said: str) -> None:
    done = start(*arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_all_rows_are_written_although_one_benchmark_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(f"# Speed\n\n{BEGIN}\n{END}\n\nafter\n", encoding="utf-8")
    few = Benchmark("rank_tables", "writing", "json", ("no_such_package",))
    failing = Benchmark("failing", "a test", "a peer", module="tests.benchmarks.failing")
    monkeypatch.setattr(program, "BENCHMARKS", (failing, few))
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--write"])
    assert program.main(page) == 1
    written = page.read_text(encoding="utf-8")
    assert "| first, full False | 1 ms | a peer | 2 ms | 0.50 |\n| a test | - " in written
    assert "| writing | - | json | - | no_such_package not installed" in written
    assert written.endswith(f"{END}\n\nafter\n")
    assert capsys.readouterr().out in written


def test_a_page_without_the_table_marker_is_reported_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.md").write_text("# Speed\n", encoding="utf-8")
    monkeypatch.setattr(program, "rows_of", None)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--write"])
    with pytest.raises(PageError):
        program.main(tmp_path / "page.md")
