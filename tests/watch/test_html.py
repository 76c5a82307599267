"""The page with curves, a file that is written again and again, in a real browser if one is installed."""

import re
import time
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.watch.html import CHARTS, as_html, as_svg
from hccl_kit.watch.look import Folder
from hccl_kit.watch.view import WatchedJob
from tests.browser import CHROMIUM, Page, browser
from tests.watch.made import HOSTILE, facts, run

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser() as opened:
        yield opened


def slow_job(folder: Path) -> WatchedJob:
    return Folder(run(folder / "run", 6, slow=4)).look()


def shown(page: Page, job: WatchedJob, folder: Path) -> Path:
    path = folder / "run.html"
    path.write_text(as_html(job))
    page.open(path)
    return path


@needs_browser
def test_the_page_shows_ranks_curves_and_the_straggler(page: Page, tmp_path: Path) -> None:
    path = shown(page, slow_job(tmp_path), tmp_path)
    assert page.value("document.querySelector('p.bad').textContent").startswith(
        "rank 4 (n0, card 4) slows down the others"
    )
    assert page.count("#ranks tr") == 7
    assert page.count("#ranks tr.bad") == 1
    assert page.count("#own-time-of-a-step polyline") == 6
    assert page.value("document.querySelector('polyline.slow').dataset.rank") == "4"
    assert page.count("#loss polyline") == page.count("#steps-per-second polyline") == 1
    top, others = (
        page.value(f"document.querySelector('#own-time-of-a-step polyline{one}').getBBox().y")
        for one in (".slow", ":not(.slow)")
    )
    assert top < others, "the slow one is drawn above the others"
    assert page.requests == [path.as_uri()]
    assert page.complaints == []


@needs_browser
def test_the_page_follows_the_file_until_the_job_is_over_and_stays_scrolled(page: Page, tmp_path: Path) -> None:
    job, path = slow_job(tmp_path), tmp_path / "run.html"

    def write(name: str, again_in: float | None) -> None:
        write_atomically(path, as_html(job._replace(run=name), again_in=again_in))

    def shows(name: str) -> bool:
        return bool(page.value("document.querySelector('h1')?.textContent ?? ''").startswith(f"{name}: running"))

    write("look 1", 0.3)
    page.open(path)
    page.value("scrollTo(0, 200)")
    assert page.value("scrollY") == 200
    for name in ("look 2", "look 3"):
        write(name, 0.3)
        page.wait(partial(shows, name))
        page.wait(lambda: page.value("scrollY") == 200)
    write("the end", None)
    page.wait(lambda: shows("the end"))
    loads = len(page.requests)
    write("not read", None)
    time.sleep(3)
    assert shows("the end")
    assert page.value("document.querySelector('footer').textContent").endswith(", no longer updated")
    assert len(page.requests) == loads
    assert set(page.requests) == {path.as_uri()}
    assert page.complaints == []


@needs_browser
def test_hostile_strings_are_escaped(page: Page, tmp_path: Path) -> None:
    folder = run(tmp_path / "run", 2)
    facts(folder, 0, ranks=2, ended=HOSTILE[:38], doing=HOSTILE)
    (folder / "rank_0.log").write_bytes(HOSTILE.encode("utf-8", "replace"))
    path = shown(page, Folder(folder).look()._replace(run=HOSTILE[:60], notes=(HOSTILE[:60],)), tmp_path)
    assert page.count("script") == 0
    assert page.value("document.body.textContent").count("<script>alert(1)</script>") >= 3
    assert page.value("/[\\x00-\\x08\\x1b\\u202e]/.test(document.documentElement.outerHTML)") is False
    assert page.requests == [path.as_uri()]
    assert page.complaints == []


@needs_browser
def test_a_page_can_show_a_thousand_ranks(page: Page, tmp_path: Path) -> None:
    path = shown(page, Folder(run(tmp_path / "run", 1000, slow=700)).look(), tmp_path)
    assert page.count("#ranks tr") == 17
    assert page.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert path.stat().st_size < 200_000


class _Balance(HTMLParser):
    """Tracks which elements are open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("more", [{}, {"windows": []}, {"loss": "nan"}, {"step": 0, "windows": [], "idle": None}])
def test_any_job_is_well_formed_and_loads_nothing(tmp_path: Path, more: dict[str, object]) -> None:
    run(tmp_path, 3)
    facts(tmp_path, 1, ranks=3, **more)  # type: ignore[arg-type]
    text = as_html(Folder(tmp_path).look())
    parser = _Balance()
    parser.feed(text)
    assert parser.open == []
    assert not re.search(r"(?:src|href)=|url\(|@import|https?:|<script", text)
    assert "default-src 'none'" in text
    assert "refresh" not in text


LOSS = next(chart for chart in CHARTS if chart.title == "Loss")


@pytest.mark.parametrize("losses", [(1e308, -1e308), (1.0, 2.0), (3.0, 3.0), (5e-324, 0.0)])
def test_every_point_is_inside_the_picture(tmp_path: Path, losses: tuple[float, float]) -> None:
    seen = Folder(run(tmp_path, 1)).look()
    (rank,) = seen.ranks
    curve = tuple(
        point._replace(span=point.span._replace(loss=losses[index % 2], losses=1))
        for index, point in enumerate(rank.curve)
    )
    svg = as_svg(seen._replace(ranks=(rank._replace(curve=curve),)), LOSS)
    places = re.search(r'points="([^"]*)"', svg)
    assert places is not None
    pairs = [tuple(map(float, place.split(","))) for place in places[1].split()]
    assert len(pairs) == len(curve) > 2
    assert all(0 <= x <= 720 and 0 <= y <= 180 for x, y in pairs)
