"""The documentation site: every page is in the menu, and every link has a target."""

import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from tests.browser import CHROMIUM, browser
from tests.docs.pages import DOCS, IN_CHINESE, IN_ENGLISH, name_of
from tests.places import ROOT

REPOSITORY = "https://github.com/hccl-kit/hccl-kit"
WIDE = ("launch", "preflight", "train", "errors", "rules", "rules/hk2", "zh/launch", "zh/rules/hk6")
"""Pages with the widest tables, and others that people read on a phone."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a built site. Not built with --quiet, which hides warnings from --strict too."""
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--strict", "--site-dir"]
    done = subprocess.run([*command, str(site)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return site


def test_mkdocs_builds_it_without_a_warning(site: Path) -> None:
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "HK201" in index
    assert "EI0014" in index


@pytest.mark.skipif(which("node") is None, reason="needs node, which runs the search as a browser does")
def test_the_search_finds_english_and_chinese(site: Path) -> None:
    place_of = {
        "EI0006": "errors/#ei0006",
        "HK201": "rules/hk2/#hk201-duplicate-rank",
        "rank table": "tables/",
        "启动": "zh/launch/",
        "备用服务器": "zh/launch/",
        "残留进程": "zh/errors/#ei0019",
        "无此词语": None,
    }
    command = ["node", str(Path(__file__).with_name("search.js")), str(site / "search"), *place_of]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    for line, (query, place) in zip(done.stdout.splitlines(), place_of.items(), strict=True):
        places = json.loads(line)
        assert place in places if place else places == [], query


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_no_page_scrolls_sideways_on_a_phone_or_a_laptop(site: Path) -> None:
    wider = []
    with browser() as page:
        page.new_tab()
        page.call("Network.setBlockedURLs", urls=["http://*", "https://*"])
        for name in WIDE:
            page.call("Page.navigate", url=(site / name / "index.html").as_uri())
            page.wait(lambda: page.value("document.readyState") == "complete")
            for width in (390, 1280):
                screen = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": False}
                page.call("Emulation.setDeviceMetricsOverride", **screen)
                if page.value("document.documentElement.scrollWidth") > width:
                    wider.append((name, width))
    assert wider == []


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r"- (\S+\.md)$", menu, re.MULTILINE)
    assert sorted(named) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", [*IN_ENGLISH, *IN_CHINESE], ids=name_of)
def test_links_to_files_have_a_target(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)", text)
    inside = [ROOT / target.removeprefix(f"{REPOSITORY}/blob/main/") for target in targets if REPOSITORY in target]
    beside = [page.parent / target for target in targets if "://" not in target]
    repository = ROOT / REPOSITORY
    assert [str(target) for target in (*inside, *beside) if target != repository and not target.exists()] == []
