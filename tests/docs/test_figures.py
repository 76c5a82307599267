"""Performance figures are only in the tables that `python -m benchmarks --write` writes."""

import re
from pathlib import Path

import pytest

from benchmarks.table import BEGIN, END, HEAD
from tests.docs.pages import DOCS, IN_CHINESE, IN_ENGLISH, name_of
from tests.places import ROOT

PAGE = DOCS / "benchmarks.md"
SPEED = re.compile(
    r"""\d\s*(?:[MGk]i?B|samples|images|img|pages|lines|steps|tokens)(?:/s|\ (?:per|a)\ second)\b  # a rate
    |\d\s*ms\b
    |\d(?:\.\d+)?\s*(?:times|x)\ (?:as\ (?:fast|long|slow|much)|(?:faster|slower|longer)|(?:json|PyTorch|torch))
    |(?:faster|slower)\ by\ \d
    |\d+(?:\.\d+)?\s*倍|每秒\s*\d""",
    re.VERBOSE,
)
PAGES = sorted({*IN_ENGLISH, *IN_CHINESE, ROOT / "CHANGELOG.md"} - {PAGE})


def outside(page: str) -> str:
    """The text of the benchmark page without its tables."""
    before, _, rest = page.partition(BEGIN)
    return before + rest.partition(END)[2]


def figures(text: str) -> list[str]:
    """The lines with a performance figure; code blocks, which show the output of programs, are excluded."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [line for line in prose.splitlines() if SPEED.search(line)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_other_page_has_a_performance_figure(page: Path) -> None:
    assert figures(page.read_text(encoding="utf-8")) == []


def test_the_benchmark_page_has_performance_figures_in_its_tables_only() -> None:
    assert figures(outside(PAGE.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "text",
    [
        "hccl-kit took 2.25 times as long",
        "416 to 429 samples per second",
        "it reads 120 MB/s",
        "2.4 to 2.5 times (27 ms)",
        "1.8x json.load",
        "3 times faster",
        "快 2.5 倍",
    ],
)
def test_a_performance_figure_is_detected(text: str) -> None:
    assert figures(text) == [text]


def test_each_ratio_in_the_tables_matches_its_figures() -> None:
    """So that a manually edited figure is detected."""
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    assert tuple(rows[0]) == HEAD
    measured = [row for row in rows if row[1:2] != ["-"] and row[0] not in (HEAD[0], "---")]
    assert len(measured) > 10
    for what, ours, _, peers, ratio in measured:
        one, other = (float(cell.split()[0].replace(",", "")) for cell in (ours, peers))
        assert one / other == pytest.approx(float(ratio), rel=0.02, abs=0.006), what
