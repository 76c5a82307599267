"""The HTML page of a diagnosis, in a real browser if one is installed."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given

from hccl_kit.diagnosis.report.html import as_html
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, RankLine
from tests.browser import CHROMIUM, Page, browser
from tests.diagnosis.report.diagnoses import START, cannot_tell, diagnoses, hostile, place, port_taken, suspect

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
VOID = ("meta",)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser() as opened:
        yield opened


def shown(page: Page, diagnosis: Diagnosis, folder: Path, *, dark: bool = False) -> Path:
    path = folder / "report.html"
    path.write_text(as_html(diagnosis))
    page.open(path, dark=dark)
    return path


@needs_browser
def test_the_page_shows_fault_graph_timeline_and_evidence(page: Page, tmp_path: Path) -> None:
    path = shown(page, port_taken(), tmp_path)
    assert page.value("document.querySelector('dd.bad').textContent").startswith(
        "rank 27 (10.0.0.4, card 3), 2025-11-20 21:37:51"
    )
    assert page.count("#timeline .row") == 32
    assert page.count("#timeline .row.culprit") == page.count("#timeline .row.silent") == 1
    assert page.count("#timeline .row circle") == 31 * 2
    assert page.value("document.querySelector('#timeline .none').textContent") == "no log"
    assert page.count("#graph .box") == 8, "four awaited ranks and who waits for them"
    assert page.count("#graph .edge") == 4
    assert page.count("#evidence tr") == 1 + 2 + 31 * 2
    assert page.requests == [path.as_uri()]
    assert page.complaints == []


@needs_browser
def test_hostile_strings_are_escaped(page: Page, tmp_path: Path) -> None:
    path = shown(page, hostile(), tmp_path)
    assert page.count("script") == 0
    assert page.value("document.querySelector('dd.bad').textContent").count("<script>alert(1)</script>") == 3
    assert page.requests == [path.as_uri()]
    assert page.complaints == []
    assert page.value("/[\\x00-\\x08\\x1b\\u202e]/.test(document.documentElement.outerHTML)") is False


@needs_browser
def test_the_content_security_policy_blocks_injected_elements(page: Page, tmp_path: Path) -> None:
    """A second line of defence, in case a string is not escaped."""
    path = tmp_path / "report.html"
    element = "<script>console.log(1)</script><img src='http://127.0.0.1:9/x'><p style='color: red'>"
    path.write_text(as_html(port_taken()).replace("</body>", f"{element}</body>"))
    page.open(path)
    assert len([one for one in page.complaints if "Content Security Policy" in one]) >= 3
    assert not [one for one in page.complaints if '"type": "log"' in one]


@needs_browser
def test_supports_light_and_dark_color_schemes(page: Page, tmp_path: Path) -> None:
    colors = "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.body).color"
    seen = []
    for dark in (False, True):
        shown(page, port_taken(), tmp_path, dark=dark)
        seen.append(page.value(colors))
    assert seen[0].startswith("rgb(255, 255, 255)")
    assert len(set(seen)) == 2


@needs_browser
def test_the_page_of_a_thousand_ranks_stays_usable(page: Page, tmp_path: Path) -> None:
    path = shown(page, port_taken(1024, 500), tmp_path)
    assert page.count("#timeline .row") == 1024
    assert page.value("document.querySelector('#timeline .row').textContent").startswith("rank 500"), "first of all"
    assert page.value("document.documentElement.scrollHeight") < 6000, "the rest scrolls inside"
    assert page.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert path.stat().st_size < 3_000_000


@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_clipped_on_a_telephone_or_a_screen(page: Page, tmp_path: Path, width: int) -> None:
    shown(page, port_taken(), tmp_path)
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 700)
    wide = "[...document.querySelectorAll('html, .scroll')].filter(e => e.scrollWidth > e.clientWidth).length"
    assert page.value(wide) == 0
    right = "Math.max(...[...document.querySelectorAll('svg *')].map(e => e.getBoundingClientRect().right))"
    assert page.value(f"{right} <= document.documentElement.clientWidth")
    gap = "e => e.lastChild.getBoundingClientRect().x - e.firstChild.getBoundingClientRect().right"
    under = "e => e.lastChild.getBoundingClientRect().y - e.firstChild.getBoundingClientRect().bottom"
    apart = f"[...document.querySelectorAll('.row')].every(e => ({gap})(e) >= 0 || ({under})(e) >= 0)"
    assert page.value(apart), "no name lies on a drawing"
    page.call("Emulation.clearDeviceMetricsOverride")


@needs_browser
def test_without_a_first_fault_the_suspects_are_shown(page: Page, tmp_path: Path) -> None:
    shown(page, cannot_tell(), tmp_path)
    assert page.value("document.querySelector('h1').textContent") == "Cannot tell"
    assert page.count("#graph .box") == 2
    assert page.complaints == []


def test_a_rank_without_errors_is_not_called_silent() -> None:
    text = as_html(port_taken()._replace(ranks=(RankLine(suspect(1), ()),), silent=()))
    assert "no error in its log" in text
    assert "no log" not in text.split('id="timeline"')[1]


class _Balance(HTMLParser):
    """Tracks which elements are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@given(diagnoses)
def test_any_diagnosis_is_well_formed(diagnosis: Diagnosis) -> None:
    parser = _Balance()
    parser.feed(as_html(diagnosis))
    assert parser.open == []
    assert not parser.seen & {"script", "a", "img", "link", "iframe", "object", "form"}


def test_nothing_is_loaded_from_the_network() -> None:
    text = as_html(hostile())
    assert not re.search(r"(?:src|href)=|url\((?!#)|@import|https?:", text)
    assert "<script" not in text
    assert "default-src 'none'" in text


@needs_browser
def test_times_and_marks_of_a_short_job_are_apart(page: Page, tmp_path: Path) -> None:
    """Five whole seconds were written over a job of two; marks of one moment covered each other."""
    moments = tuple((START + part, f"error {part}", place(0)) for part in (0.0, 0.001, 0.02, 1.0, 2.0))
    without = RankLine(suspect(1), ((None, "ModuleNotFoundError", place(1)),))
    shown(page, cannot_tell()._replace(ranks=(RankLine(suspect(0), moments), without), silent=()), tmp_path)
    ticks = page.value("[...document.querySelectorAll('#timeline text.tick')].map(one => one.textContent)")
    assert ticks == [f"2025-11-20 21:37:{second}" for second in ("51.500", "52.000", "52.500", "53.000", "53.500")]
    boxes = "[...document.querySelectorAll('#timeline circle, #timeline .count, #timeline text.tick')]"
    edges = page.value(f"{boxes}.map(one => one.getBoundingClientRect()).map(b => [b.left, b.right, b.top, b.bottom])")
    assert len(edges) == 5 + 3 + 1
    for number, (left, right, top, bottom) in enumerate(edges):
        for other in edges[number + 1 :]:
            assert right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top
    assert page.value("document.querySelector('#timeline circle title').textContent").count("error") == 3
    assert page.value("document.querySelector('#timeline .count').textContent") == "3"
    assert page.value("document.querySelector('#timeline .none').textContent") == "no time in its log"


@needs_browser
def test_a_job_of_one_moment_has_one_time(page: Page, tmp_path: Path) -> None:
    moments = ((START, "one", place(0)), (START, "two", place(0)))
    shown(page, cannot_tell()._replace(ranks=(RankLine(suspect(0), moments),), suspects=()), tmp_path)
    assert page.count("#timeline text.tick") == page.count("#timeline circle") == 1
