"""SARIF 2.1.0: the output meets the requirements of the standard."""

import json
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.check.report.sarif import MAX_RESULTS, as_sarif, as_uri
from hccl_kit.check.result import Report
from hccl_kit.check.rules import RULE_BY_ID
from hccl_kit.table.finding import Finding
from hccl_kit.table.pointer import Span
from tests.places import TESTS
from tests.tables import text, value

BAD = text(1, 2).replace('"rank_id": "1"', '"rank_id": "0"')
BAD_TABLES = sorted(TESTS.glob("check/rules/HK*/bad.json*"))


def run(*reports: Report) -> Any:
    log = json.loads(as_sarif(reports))
    assert log.keys() == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    (only,) = log["runs"]
    return only


def only_result(name: str, document: str = BAD) -> Any:
    (result,) = run(check_text(document, name))["results"]
    return result


def test_a_finding_is_a_result_at_its_region() -> None:
    result = only_result("a/t.json")
    assert result["message"]["text"] == (
        'rank 0 is already taken by device 0 of server "10.0.0.1"\n'
        "HCCL would stop with EI0014.\nFix: use rank 1, which no device has"
    )
    (location,) = result["locations"]
    assert location == {
        "physicalLocation": {
            "artifactLocation": {"uri": "a/t.json"},
            "region": {"startLine": 16, "startColumn": 32, "endColumn": 35},
        }
    }
    (related,) = result["relatedLocations"]
    assert related["physicalLocation"]["region"] == {"startLine": 11, "startColumn": 32, "endColumn": 35}
    assert related["message"] == {"text": "first defined"}


def test_columns_count_characters_and_the_region_covers_the_value() -> None:
    document = json.dumps(value(1, 2), ensure_ascii=False).replace("10.0.0.1", "服务器\U0001f600")
    document = document.replace('"rank_id": "1"', '"rank_id": "0"')
    assert run(check_text(document, "t.json"))["columnKind"] == "unicodeCodePoints"
    region = only_result("t.json", document)["locations"][0]["physicalLocation"]["region"]
    assert document[region["startColumn"] - 1 : region["endColumn"] - 1] == '"0"'


def test_a_result_points_at_its_rule() -> None:
    only = run(check_text(BAD.replace("10.0.0.1", "127.0.0.1"), "t.txt"))
    rules = [rule["id"] for rule in only["tool"]["driver"]["rules"]]
    assert rules == ["HK008", "HK201", "HK210"]
    assert [rules[result["ruleIndex"]] for result in only["results"]] == ["HK008", "HK210", "HK201"]


def test_every_result_has_its_rule_with_a_page_and_a_level() -> None:
    for path in BAD_TABLES:
        report = check_text(path.read_bytes(), path.name)
        only = run(report)
        rules = only["tool"]["driver"]["rules"]
        assert only["tool"]["driver"]["name"] == "hccl-check"
        assert len({rule["id"] for rule in rules}) == len(rules)
        assert {rule["id"] for rule in rules} == {found.rule for found in report.findings}
        for rule in rules:
            assert rule["shortDescription"]["text"].endswith(".")
            assert rule["fullDescription"]["text"]
            assert rule["help"]["text"] == RULE_BY_ID[rule["id"]].page
            assert "**Fix:**" in rule["help"]["markdown"]
            assert rule["defaultConfiguration"]["level"] == RULE_BY_ID[rule["id"]].severity
        for result, found in zip(only["results"], report.findings, strict=True):
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == found.rule
            assert result["level"] == found.severity
            assert result["level"] in ("error", "warning", "note")
            region = result["locations"][0]["physicalLocation"]["region"]
            assert region["startLine"] >= 1
            assert region.get("endColumn", 2) > region.get("startColumn", 1) >= 1


def test_a_finding_about_the_whole_file_is_on_its_first_line() -> None:
    result = only_result("t.txt", text())
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("a/t.json", "a/t.json"),
        ("../t.json", "../t.json"),
        ("/data/t.json", "file:///data/t.json"),
        ("//data/t.json", "file:///data/t.json"),
        ("a:b.json", "a%3Ab.json"),
        ("100% #1?.json", "100%25%20%231%3F.json"),
        ("表.json", "%E8%A1%A8.json"),
        ("\udcff.json", "%FF.json"),  # a name that is not UTF-8, as Python decodes it
        ("<stdin>", "%3Cstdin%3E"),
    ],
)
def test_a_path_is_a_uri_reference(name: str, uri: str) -> None:
    assert as_uri(name) == uri


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda name: not name.startswith("/")))
def test_a_relative_path_survives_the_round_trip_through_its_uri(name: str) -> None:
    parts = urlsplit(as_uri(name))
    assert (parts.scheme, parts.netloc, unquote(parts.path)) == ("", "", name)


def test_text_of_a_file_becomes_no_placeholder_or_link() -> None:
    hostile = BAD.replace("10.0.0.1", "{0} [click](https://example.org)")
    text = only_result("t.json", hostile)["message"]["text"]
    assert "{{0}} [click] (https://example.org)" in text


def test_results_beyond_the_limit_are_counted_and_errors_come_first() -> None:
    warning = Finding("said", rule="HK402", severity="warning", span=Span(1, 1))
    error = Finding("said", rule="HK201", severity="error", span=Span(2, 1))
    only = run(Report("t.json", "1.0", "910", (*[warning] * MAX_RESULTS, error, error)))
    assert [result["level"] for result in only["results"][:3]] == ["error", "error", "warning"]
    assert len(only["results"]) == MAX_RESULTS
    (told,) = only["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"].startswith("2 further findings are left out")


def test_no_findings_give_an_empty_run() -> None:
    only = run(check_text(text(), "t.json"))
    assert (only["results"], only["tool"]["driver"]["rules"]) == ([], [])
    assert only["invocations"] == [{"executionSuccessful": True}]
