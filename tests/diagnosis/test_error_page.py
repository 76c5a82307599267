"""The published pages of HCCL's error codes, in both languages, match the code."""

import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.diagnosis.errors.table import BY_CODE, CODES
from tests.places import ROOT

DOCS = ROOT / "docs"
PAGES = ("errors.md", "zh/errors.md")


def test_the_published_pages_are_current(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    folder = DOCS if pytestconfig.getoption("update_golden") else tmp_path
    subprocess.run([sys.executable, "-X", "utf8", "scripts/error_page.py", str(folder)], cwd=ROOT, check=True)
    for page in PAGES:
        written, kept = ((place / page).read_text(encoding="utf-8") for place in (folder, DOCS))
        assert written == kept, "python scripts/error_page.py"


def test_every_code_has_a_section_that_lists_its_rules_or_a_row() -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    sections = {part[:6]: part for part in page.split("\n## ")[1:] if part[:6] in CODES}
    assert sections.keys() == CODES.keys()
    assert [rule.id for rule in CATALOGUE if rule.hccl_error and f"[{rule.id}]" not in sections[rule.hccl_error]] == []
    rest = [code.removeprefix("HcclResult ") for code in BY_CODE if code not in CODES]
    assert [code for code in rest if f"| {code} |" not in page and f"`{code}`" not in page] == []
