"""The published pages of HCCL's error codes, in both languages, match the code."""

from collections.abc import Iterator

import pytest

from hccl_kit.base.translation import LANGUAGES, speak
from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.diagnosis.error_page import as_markdown
from hccl_kit.diagnosis.errors.table import BY_CODE, CODES
from tests.places import ROOT

PAGES = {"en": ROOT / "docs" / "errors.md", "zh": ROOT / "docs" / "zh" / "errors.md"}


@pytest.fixture
def english() -> Iterator[None]:
    yield
    speak("en")


@pytest.mark.usefixtures("english")
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_published_page_is_current(language: str, request: pytest.FixtureRequest) -> None:
    page = PAGES[language]
    speak(language)
    if request.config.getoption("--update-golden"):
        page.write_text(as_markdown(), encoding="utf-8")
    assert page.read_text(encoding="utf-8") == as_markdown(), "pytest --update-golden writes it"


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
