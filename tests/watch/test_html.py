"""The page with curves, as a file and served, in a real browser if one is installed."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hccl_kit.watch.html import as_html
from hccl_kit.watch.look import Folder
from hccl_kit.watch.server import serving
from hccl_kit.watch.view import Job
from tests.browser import CHROMIUM, Page, browser
from tests.watch.made import HOSTILE, facts, run

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser() as opened:
        yield opened


def slow_job(folder: Path) -> Job:
    return Folder(run(folder / "run", 6, slow=4)).look()


def shown(page: Page, job: Job, folder: Path) -> Path:
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
def test_a_served_page_reloads_and_makes_no_other_requests(page: Page, tmp_path: Path) -> None:
    job = slow_job(tmp_path)
    asked = []

    def fresh() -> str:
        asked.append(1)
        return as_html(job._replace(run=f"look {len(asked)}"), refresh=1)

    with serving(fresh) as address:
        page.new_tab()
        page.call("Page.navigate", url=address)
        page.wait(lambda: len(asked) >= 3)
        heading = "document.querySelector('h1')?.textContent ?? ''"  # none while the page is reloaded
        page.wait(lambda: bool(re.match("look [0-9]+: running", page.value(heading))))
        assert set(page.requests) <= {address, address.rsplit("/", 2)[0] + "/favicon.ico"}
        assert not [one for one in page.complaints if "favicon" not in one]
        page.call("Page.navigate", url="about:blank")


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
