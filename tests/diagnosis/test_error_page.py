"""The published page of HCCL's error codes matches the code."""

import pytest

from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.diagnosis.error_page import as_markdown
from hccl_kit.diagnosis.errors.table import BY_CODE, CODES
from tests.places import ROOT

PAGE = ROOT / "docs" / "errors.md"


def test_the_published_page_is_current(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(as_markdown(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == as_markdown(), "pytest --update-golden writes it"


def test_every_code_has_a_section_that_lists_its_rules() -> None:
    sections = {part[:6]: part for part in as_markdown().split("\n## ")[1:] if part[:6] in CODES}
    assert sections.keys() == CODES.keys()
    assert [rule.id for rule in CATALOGUE if rule.hccl_error and f"[{rule.id}]" not in sections[rule.hccl_error]] == []


def test_every_other_code_has_a_row() -> None:
    page = as_markdown()
    assert [
        code
        for code in BY_CODE
        if f"| {code.removeprefix('HcclResult ')} |" not in page and f"`{code}`" not in page and code not in CODES
    ] == []
