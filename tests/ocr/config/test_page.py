"""The published page of all keys matches the schema."""

import pytest

from hccl_kit.ocr.config.schema import root
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


def test_every_definition_with_a_title_has_its_section() -> None:
    titles = [rule["title"] for rule in root()["$defs"].values() if "title" in rule]
    headings = [line[3:] for line in page.as_markdown().split("\n") if line.startswith("## ")]
    assert sorted(headings) == sorted(titles)
    assert headings[:2] == ["Text detection", "Text recognition"]


def test_every_link_leads_to_a_section() -> None:
    text = page.as_markdown()
    headings = [line[3:] for line in text.split("\n") if line.startswith("## ")]
    links = {part.split(")")[0] for part in text.split("](#")[1:]}
    assert links <= {page.anchor(heading) for heading in headings}
    assert "dataset-of-recognition-lmdbdataset" in links


def test_every_row_has_four_cells_and_a_description() -> None:
    rows = [line for line in page.as_markdown().split("\n") if line.startswith("| `")]
    assert len(rows) > 200
    assert {row.count(" | ") for row in rows} == {3}
    assert [row for row in rows if row.endswith("|  |")] == []


def test_the_options_of_selectable_parts_are_listed() -> None:
    """Also those of postprocess and loss, which are selected by their own name."""
    lines = page.as_markdown().split("\n")
    postprocess = lines[lines.index("## postprocess of detection") : lines.index("## metric of detection")]
    assert any(line.startswith("| `binary_thresh`") and "| DBPostprocess: " in line for line in postprocess)
    assert any(line.startswith("| `l1_scale`") and "| DBLoss, AuxDBLoss: " in line for line in lines)


def test_a_key_of_several_parts_is_one_row() -> None:
    rows = [line for line in page.as_markdown().split("\n") if line.startswith("| `backbone.pretrained`")]
    assert len(rows) == 3  # of detection, recognition and classification
    assert (
        "det_resnet18, det_resnet50, det_resnet152, det_mobilenet_v3, det_pplcnet_v4, det_pplcnet_v3: A file or URL"
        in rows[0]
    )
    assert "No effect for True: random weights" in rows[0]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, "whole number from 1 to 9"),
        ({"type": ["number", "null"], "exclusiveMinimum": 0}, "number above 0 or null"),
        ({"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "string"}}, "list: 2 times text"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "list: a, b"),
        ({"enum": [None, 0, True]}, "null, 0, True"),
        ({"const": False}, "False"),
        ({"type": "string", "pattern": "x", "x-accepted": "an x"}, "an x"),
    ],
)
def test_accepted_values_are_described_in_words(rule: dict[str, object], words: str) -> None:
    assert page.accepted(rule) == words
