"""The published table of rules: every rule has a page, and every output format contains every rule."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest

from hccl_kit.base.translation import LANGUAGES, speak
from hccl_kit.check.rule import Rule
from hccl_kit.check.rule_pages import (
    FAMILIES,
    HEADINGS,
    as_json,
    as_lines,
    as_sections,
    documents,
    page_address,
    severities,
)
from hccl_kit.check.selection import chosen_rules
from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.table.finding import Finding, Severity
from tests.places import ROOT

FOLDERS = {
    "en": (ROOT / "docs" / "rules", "../sources.md"),
    "zh": (ROOT / "docs" / "zh" / "rules", "../../sources.md"),
}
"""The pages in each language, and the page of sources as they name it."""


@pytest.fixture
def english() -> Iterator[None]:
    yield
    speak("en")


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


@pytest.mark.usefixtures("english")
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_published_pages_are_current(language: str, request: pytest.FixtureRequest) -> None:
    folder, sources = FOLDERS[language]
    speak(language)
    pages = documents(CATALOGUE, sources)
    if request.config.getoption("--update-golden"):
        for name, text in pages.items():
            (folder / name).write_text(text, encoding="utf-8")
    published = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert published == pages, "pytest --update-golden tests/check/test_rule_pages.py writes them"


@pytest.mark.usefixtures("english")
def test_in_chinese_a_rule_is_at_the_same_address_with_its_words_translated() -> None:
    speak("zh")
    page = documents(CATALOGUE)["hk3.md"]
    assert "# HK3：网络\n" in page
    assert "卡没有 IP 地址 | 错误；a3 上为警告 | EI0014 | 1.0、1.2 |\n" in page
    assert '\n## <a id="hk305"></a>HK305 missing-device-ip\n\n有多台服务器' in page
    assert "\n**解决方法：** " in page


def test_the_index_has_a_row_for_every_rule_with_its_anchor_and_its_address() -> None:
    rows = [line for line in documents(CATALOGUE)["index.md"].split("\n") if "[HK" in line and "<a" in line]
    assert [row.partition("](")[0] for row in rows] == [f'| <a id="{r.id.lower()}"></a>[{r.id}' for r in CATALOGUE]
    assert [re.findall(r"\]\((.*?)\)", row)[0] for row in rows] == [page_address(rule) for rule in CATALOGUE]
    assert {row.count("|") for row in rows} == {7}


def test_every_rule_is_at_its_address_and_in_the_table_of_that_page() -> None:
    pages = documents(CATALOGUE)
    for rule in CATALOGUE:
        name, _, anchor = page_address(rule).partition("#")
        assert f'\n## <a id="{anchor}"></a>{rule.id} {rule.name}\n\n' in pages[name]
        assert f"\n| [{rule.id}]({page_address(rule)}) | {rule.name} |" in pages[name]
    assert sum(text.count("\n## ") for text in pages.values()) == len(CATALOGUE)


def test_facts_lead_to_their_sources() -> None:
    assert "([R3](../sources.md#r3))" in documents(CATALOGUE)["hk0.md"]
    assert "([R3](elsewhere.md#r3))" in documents(CATALOGUE, "elsewhere.md")["hk0.md"]


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

    text = documents([Rule("HK299", "t", check)])["hk2.md"]
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
