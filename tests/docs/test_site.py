"""The documentation site: every page is in the menu, and every link has a target."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, IN_CHINESE, IN_ENGLISH, name_of
from tests.places import ROOT

REPOSITORY = "https://github.com/hccl-kit/hccl-kit"


def test_mkdocs_builds_it_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir"]
    done = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    index = (tmp_path / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "HK201" in index
    assert "EI0014" in index


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
