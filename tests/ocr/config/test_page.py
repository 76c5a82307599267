"""The published page of all keys matches the schema."""

import pytest

from tests.ocr.config import page
from tests.places import ROOT

DOCUMENT = ROOT / "docs" / "config.md"


def test_the_published_document_is_current(request: pytest.FixtureRequest) -> None:
    text = page.as_markdown()
    if request.config.getoption("--update-golden"):
        DOCUMENT.write_text(text, encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == text, (
        "pytest --update-golden tests/ocr/config/test_page.py writes it"
    )


def test_every_link_leads_to_a_section() -> None:
    text = page.as_markdown()
    headings = [line[3:] for line in text.split("\n") if line.startswith("## ")]
    links = {part.split(")")[0] for part in text.split("](#")[1:]}
    assert links <= {page.anchor(heading) for heading in headings}
    assert "dataset-of-recognition-lmdbdataset" in links
