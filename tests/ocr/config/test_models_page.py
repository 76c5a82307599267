"""The page of models: every configuration has a row, and every result has a source."""

import re

import pytest
import yaml

from tests.docs.pages import DOCS
from tests.ocr.config import models_page
from tests.places import shipped_configs

DOCUMENT = DOCS / "models.md"


@pytest.mark.train
def test_the_published_page_is_current(request: pytest.FixtureRequest) -> None:
    text = models_page.as_markdown(models_page.models())
    if request.config.getoption("--update-golden"):
        DOCUMENT.write_text(text, encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == text, (
        "pytest --update-golden tests/ocr/config/test_models_page.py writes it"
    )


def test_every_configuration_has_its_row() -> None:
    known = yaml.safe_load(models_page.KNOWN.read_text(encoding="utf-8"))
    shipped = {str(path.relative_to(models_page.FOLDER).with_suffix("")) for path in shipped_configs()}
    assert set(known) == shipped


def test_every_result_is_on_the_page_that_is_cited() -> None:
    """Next to the name of the configuration; all kinds of numbers, with their units."""
    known = yaml.safe_load(models_page.KNOWN.read_text(encoding="utf-8"))
    missing = [
        (name, figure)
        for name, facts in known.items()
        if (measured := facts.get("measured"))
        for figure in [
            name.rpartition("/")[2],
            *re.findall(
                r"\d(?:[\d.,]*\d)?(?: %| min| s\b)?",
                " ".join(str(measured[key]) for key in ("result", "trainings", "error", "training")),
            ),
        ]
        if figure not in (DOCS / measured["page"]).read_text(encoding="utf-8")
    ]
    assert missing == []
