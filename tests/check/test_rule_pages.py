"""The published table of rules: every rule has a page, and every output format contains every rule."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from hccl_kit.check.rule import FAMILIES, Rule
from hccl_kit.check.rule_pages import (
    HEADINGS,
    as_json,
    as_lines,
    as_markdown,
    as_sections,
    severities,
)
from hccl_kit.check.selection import chosen_rules
from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.table.finding import Finding, Severity
from tests.places import ROOT

DOCUMENT = ROOT / "docs" / "rules.md"


def test_every_rule_has_an_id_a_name_and_a_page_under_the_same_headings_and_can_be_selected() -> None:
    for before, rule in pairwise([None, *CATALOGUE]):
        assert rule is not None
        assert before is None or before.id < rule.id
        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", rule.name), rule
        assert len(rule.name) <= 32, rule
        assert chosen_rules([f" {rule.name.upper()},{rule.name}"], CATALOGUE) == {rule.id}, "its name is its own"
        summary, sections = as_sections(rule)
        assert tuple(sections) == HEADINGS, rule
        assert all(sections.values()), rule
        assert re.fullmatch(r"[A-Z`].{5,119}\.", summary), "one sentence comes first"
        assert rule.hccl_error is None or rule.hccl_error in sections["HCCL"], rule


def test_every_family_is_named() -> None:
    assert {rule.id[:3] for rule in CATALOGUE} == set(FAMILIES)


def test_the_published_document_is_current(request: pytest.FixtureRequest) -> None:
    text = as_markdown(CATALOGUE)
    if request.config.getoption("--update-golden"):
        DOCUMENT.write_text(text, encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == text, "pytest --update-golden tests/test_pages.py writes it anew"


def test_markdown_has_a_row_and_a_page_for_every_rule() -> None:
    lines = as_markdown(CATALOGUE).split("\n")
    assert [line[3:] for line in lines if line.startswith("## ")] == [rule.id for rule in CATALOGUE]
    rows = [line for line in lines if line.startswith("| [HK")]
    assert [row[3:8] for row in rows] == [rule.id for rule in CATALOGUE]
    assert {row.count("|") for row in rows} == {7}


def test_markdown_syntax_in_a_text_is_escaped() -> None:
    def check(_table: object, _product: object) -> Iterator[Finding]:
        """Stars * are not `a_b*` stars.

        What:           <b> and
                        more
        Why it matters: x
        Example:        "192.1.*.6"
        Fix:            y
        HCCL:           z
        """
        yield from ()

    text = as_markdown([Rule("HK999", "t", check)])
    assert "Stars \\* are not `a_b*` stars." in text
    assert '**What:** \\<b\\> and more\n\n**Why it matters:** x\n\n**Example:** "192.1.\\*.6"\n' in text


def test_severity_is_reported_by_product() -> None:
    assert severities(Rule("HK999", "t")) == "error"
    by_product: dict[str, Severity | None] = {"a3": "warning", "910": None, "a2": "warning", "auto": "warning"}
    differs: Rule[[]] = Rule("HK999", "t", by_product=by_product)
    assert severities(differs) == "error; not checked on 910; warning on a2, a3 and auto"
    assert severities(Rule("HK999", "t", by_product={"a3": "error"})) == "error"


def test_lines_are_aligned_in_columns() -> None:
    lines = as_lines(CATALOGUE).split("\n")
    assert len(lines) == len(CATALOGUE)
    starts = {line.index(rule.title) for line, rule in zip(lines, CATALOGUE, strict=True)}
    assert len(starts) == 1


def test_the_json_form_has_every_field() -> None:
    document = json.loads(as_json(CATALOGUE))
    assert document["version"] == 1
    assert [row["id"] for row in document["rules"]] == [rule.id for rule in CATALOGUE]
    (row,) = [row for row in document["rules"] if row["id"] == "HK305"]
    assert row.pop("page").startswith("Several servers")
    assert row == {
        "id": "HK305",
        "name": "missing-device-ip",
        "title": "Several servers, and a device has no address",
        "severity": "error",
        "by_product": {"a3": "warning"},
        "formats": ["1.0", "1.2"],
        "hccl_error": "EI0014",
        "variables": ["device_ip"],
    }
    assert document["rules"][0]["formats"] is None
