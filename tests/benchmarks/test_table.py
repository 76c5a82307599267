"""The table of all measurements, and how it is inserted into the page."""

import os
from pathlib import Path

import pytest

from benchmarks.row import Row
from benchmarks.table import (
    BEGIN,
    BESIDE,
    CPUINFO,
    END,
    VARIABLE,
    PageError,
    machine,
    markdown,
    placed,
    processor,
    section,
)


def test_a_row_has_both_figures_and_the_ratio() -> None:
    rows = [
        Row("reading", "grep -c", "MB/s", 81.234, 1234.5),
        Row("a step", "PyTorch", missing="torch not installed"),
        Row("nothing", "a peer", "s", 0.004567, 0.0),
    ]
    assert markdown(rows).splitlines()[2:] == [
        "| reading | 81.2 MB/s | grep -c | 1,234 MB/s | 0.066 |",
        "| a step | - | PyTorch | - | torch not installed |",
        "| nothing | - | a peer | - | no figure |",
    ]


def test_a_reason_is_escaped_in_a_cell() -> None:
    assert "a / b" in markdown([Row("x", "y", missing="a | b")])


def test_only_the_section_of_this_processor_is_written() -> None:
    page = placed(f"# Page\n\n### Other\n{BEGIN}\n{END}\nafter\n", "### One (AVX2)\n\nold\n")
    assert page == f"# Page\n\n### Other\n{BEGIN}\n\n### One (AVX2)\n\nold\n\n{END}\nafter\n"
    both = placed(page, "### Two\n\n| a |\n| b |\n")
    assert both == page.replace(END, f"### Two\n\n| a |\n| b |\n\n{END}")
    assert placed(both, "### One (AVX2)\n\nnew\n") == both.replace("old", "new")
    assert placed(both, "### Two\n\n| c |\n") == both.replace("| a |\n| b |", "| c |")


@pytest.mark.parametrize("page", ["", BEGIN, END, f"{END}{BEGIN}", f"{BEGIN}{BEGIN}{END}", f"{BEGIN}{END}{END}"])
def test_a_page_without_the_table_marker_is_refused(page: str) -> None:
    with pytest.raises(PageError, match="needs one line"):
        placed(page, "### x\n")


def test_the_processor_is_named_with_its_instruction_sets(tmp_path: Path) -> None:
    core = "processor\t: {}\nmodel name\t: Some {} CPU @ 2.50GHz\nflags\t\t: fpu avx2 avx512f {}\n\n"
    (tmp_path / "cpuinfo").write_text(core.format(0, "first", "amx_tile") + core.format(1, "other", ""))
    assert processor(tmp_path / "cpuinfo") == "Some first CPU @ 2.50GHz (AVX2, AVX-512, AMX)"
    (tmp_path / "arm").write_text("processor\t: 0\nFeatures\t: fp asimd\n")
    assert "(" not in processor(tmp_path / "arm")
    assert processor(tmp_path / "absent")


def test_a_section_names_the_processor_and_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    rows = [Row("reading", "grep -c", "MB/s", 1.0, 2.0)]
    parts = section(rows, full=False, loads=[1]).split("\n\n")
    assert parts[0] == f"### {processor(CPUINFO)}"
    assert parts[1] == machine(full=False, loads=[1])
    assert parts[2] == markdown(rows)


def test_a_processor_with_a_limit_has_a_section_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "AVX2")
    assert section([], full=False, loads=[1]).startswith(f"### {processor(CPUINFO)}, ONEDNN_MAX_CPU_ISA=AVX2\n\n")


def test_the_load_is_that_of_the_whole_run() -> None:
    assert ", load of the machine 0.1 to 7.3. Python 3." in machine(full=False, loads=[0.1, 7.3, 2.0])


def test_a_busy_machine_is_named() -> None:
    cores = len(os.sched_getaffinity(0))
    assert BESIDE not in machine(full=True, loads=[0.1, 2 * cores])
    assert machine(full=True, loads=[0.1, 2 * cores + 1, 0.2]).endswith(BESIDE)
