"""The documentation site: every page is in the menu, and every link has a target."""

import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from tests.docs.pages import DOCS, IN_CHINESE, IN_ENGLISH, name_of
from tests.places import ROOT

REPOSITORY = "https://github.com/hccl-kit/hccl-kit"


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the search in a built site."""
    site = tmp_path_factory.mktemp("site")
    # Not --quiet, with which --strict does not see warnings.
    command = [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return site / "search"


def test_mkdocs_builds_it_without_a_warning(search: Path) -> None:
    index = (search / "search_index.json").read_text(encoding="utf-8")
    assert "HK201" in index
    assert "EI0014" in index


@pytest.mark.skipif(which("node") is None, reason="needs node, which runs the search as a browser does")
def test_the_search_finds_english_and_chinese(search: Path) -> None:
    place_of = {
        "EI0006": "errors/#ei0006",
        "HK201": "rules/hk2/#hk201-duplicate-rank",
        "rank table": "tables/",
        "启动": "zh/launch/",
        "备用服务器": "zh/launch/",
        "残留进程": "zh/errors/#ei0019",
        "无此词语": None,
    }
    command = ["node", str(Path(__file__).with_name("search.js")), str(search), *place_of]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    for line, (query, place) in zip(done.stdout.splitlines(), place_of.items(), strict=True):
        places = json.loads(line)
        assert place in places if place else places == [], query


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
