"""The text report."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.check.report.json_form import as_json
from hccl_kit.check.report.text import as_text
from hccl_kit.check.result import Report
from hccl_kit.table.document import decode
from hccl_kit.table.finding import Finding
from hccl_kit.table.pointer import Pointer, Span
from hccl_kit.table.products import find_product
from tests.tables import text, value


def shown(document: bytes | str, name: str = "t.json", color: bool = False) -> str:
    return as_text(check_text(document, name), decode(document), color)


def marking(line: str, column: int, width: int) -> list[str]:
    """The source lines of a report on one finding in a one-line document."""
    found = Finding("said", rule="HK201", severity="error", span=Span(1, column, width))
    shown = as_text(Report("t.json", "1.0", "910", (found,)), line, color=False)
    return [row for row in shown.split("\n") if " |" in row or "| " in row]


def test_a_finding_shows_its_position_source_line_and_related_position() -> None:
    document = json.dumps(value(1, 2), indent=4).replace('"rank_id": "1"', '"rank_id": "0"')
    assert (
        shown(document)
        == """\
t.json:16:32: HK201 error: rank 0 is already taken by device 0 of server "10.0.0.1"
   |
16 |                     "rank_id": "0"
   |                                ^^^
   = first defined at t.json:11:32
   = HCCL would stop with EI0014 (rank_id)
   = fix: use rank 1, which no device has
t.json: 1 error"""
    )


def test_a_good_table_is_one_line() -> None:
    report = check_text(text(2, 8), "a/t.json", find_product("910"))
    assert as_text(report, text(2, 8), color=True) == "a/t.json: ok, version 1.0, 2 servers, 16 devices, product 910"
    assert shown(text(1, 1)).startswith(
        "t.json: ok, version 1.0, 1 server, 1 device, product auto (topology not checked"
    )


def test_carets_align_under_wide_characters() -> None:
    bar, source, caret = marking('{"名": "服务器", "é": 1}', 7, 5)
    assert bar == "  |"
    assert source == '1 | {"名": "服务器", "é": 1}'
    assert caret == "  |        " + "^" * 8
    assert marking("e\u0301x", 3, 1)[2] == "  |  ^"
    assert marking("\t\tx", 3, 1)[1:] == ["1 |   x", "  |   ^"]


def test_a_long_line_is_shown_around_the_fault() -> None:
    document = json.dumps(value(1, 8)).replace('"rank_id": "7"', '"rank_id": "6"')
    rows = shown(document).split("\n")
    assert max(map(len, rows)) < 130
    source, caret = rows[2], rows[3]
    assert source[caret.index("^") : caret.rindex("^") + 1] == '"6"'


def test_a_finding_about_the_whole_file_shows_no_source_line() -> None:
    assert " | " not in shown(text(), "t.txt")


@given(st.text(max_size=200) | st.binary(max_size=200), st.text(max_size=10))
def test_control_characters_of_a_file_or_its_name_are_replaced(document: bytes | str, name: str) -> None:
    assert all(char.isprintable() or char == "\n" for char in shown(document, name))


def test_control_characters_in_ids_are_replaced() -> None:
    document = (
        json.dumps(value(1, 2)).replace('"rank_id": "1"', '"rank_id": "0"').replace("10.0.0.1", "\\u001b[2J\\u202e")
    )
    assert shown(document).isascii()
    assert "\x1b" not in shown(document)


def test_a_long_list_is_truncated_and_errors_come_first() -> None:
    warnings = [Finding("said", rule="HK999", severity="warning", span=Span(1, 1))] * 150
    errors = [Finding("said", rule="HK201", severity="error", span=Span(2, 1))] * 60
    report = Report("t.json", "1.0", "910", (*warnings, *errors))
    *rows, more, last = as_text(report, "{\n}", color=False).split("\n")
    heads = [row for row in rows if row.startswith("t.json:")]
    assert [len([row for row in heads if word in row]) for word in ("error:", "warning:")] == [60, 40]
    assert more == "t.json: 110 more findings; --format json lists all"
    assert last == "t.json: 60 errors, 150 warnings, so nothing else was checked"
    assert len(json.loads(as_json([report]))["results"][0]["findings"]) == 210


def test_a_list_at_the_limit_is_not_truncated() -> None:
    errors = [Finding("said", rule="HK201", severity="error", span=Span(2, 1))] * 99
    found = (Finding("said", rule="HK999", severity="warning", span=Span(1, 1)), *errors)
    text = as_text(Report("t.json", "1.0", "910", found), "{\n}", color=False)
    assert text.startswith("t.json:1:1: HK999 warning: said")
    assert "more finding" not in text


def test_color_only_adds_color() -> None:
    document = json.dumps(value(1, 2)).replace('"rank_id": "1"', '"rank_id": "0"')
    colored = shown(document, color=True)
    assert "\x1b[31mHK201 error:\x1b[0m" in colored
    assert re.sub("\x1b\\[[0-9]+m", "", colored) == shown(document)


def test_the_last_line_names_the_product_if_none_was_given() -> None:
    pods = json.dumps(value(1, 2) | {"version": "1.2"})
    aloud = "product a3 (derived from the version; change it with --product)"
    assert shown(pods) == f"t.json: ok, version 1.2, 1 server, 2 devices, {aloud}"
    assert shown(pods.replace('"rank_id": "1"', '"rank_id": "0"')).split("\n")[-1] == f"t.json: 1 error, {aloud}"
    named = check_text(pods, "t.json", find_product("a3"))
    assert as_text(named, pods, color=False) == "t.json: ok, version 1.2, 1 server, 2 devices, product a3"


@pytest.mark.parametrize(
    ("product", "cards", "told"),
    [
        ("910", "04", ", breaks a rule of product 910 (HK402; with --strict an error)"),
        ("910", "01", ""),
        ("a2", "01", ""),
    ],
)
def test_the_last_line_reports_a_table_that_breaks_the_rule_of_its_product(product: str, cards: str, told: str) -> None:
    document = value(1, 2)
    for device, card in zip(document["server_list"][0]["device"], cards, strict=True):
        device["device_id"] = card
    source = json.dumps(document)
    report = check_text(source, "t.json", find_product(product))
    counted = ", 1 warning" if told else ""
    last = as_text(report, source, color=False).split("\n")[-1]
    assert last == f"t.json: ok{counted}{told}, version 1.0, 1 server, 2 devices, product {product}"


@pytest.mark.parametrize(
    ("rule", "pointer", "name"),
    [
        ("HK203", ("device", 1, "device_id"), " (Device Id of server Id X)"),  # HCCL's own name
        ("HK103", ("rank_id",), " (rank_id)"),  # one of several
        ("HK103", ("device",), ""),
        ("HK310", ("host_ip",), " (Device Id of server Id X)"),
        ("HK206", ("server_id",), " (server_id)"),  # not known: the key
        ("HK208", ("device",), ""),  # HCCL does not name lists
        ("HK101", ("devcie_id",), ""),  # here the key is a typo
        ("HK001", (), ""),
    ],
)
def test_hccl_is_quoted_with_its_name_for_the_error(rule: str, pointer: Pointer, name: str) -> None:
    found = Finding("said", rule=rule, severity="error", pointer=pointer, span=Span(1, 1), hccl_error="EI0014")
    text = as_text(Report("t.json", "1.0", "910", (found,)), "{}", color=False)
    assert text.split("\n")[-2] == f"   = HCCL would stop with EI0014{name}"


@pytest.mark.parametrize(
    ("document", "last"),
    [
        ('{"status": "initializing"}', "t.json: not ready, 1 warning"),
        ("[", "t.json: 1 error, so nothing else was checked"),
        ("\ufeff{}", "t.json: 3 errors, 1 warning, so nothing else was checked"),
        (json.dumps(value() | {"server_list": [1, 2]}), "t.json: 2 errors, so nothing else was checked"),
    ],
)
def test_the_last_line_sums_up(document: str, last: str) -> None:
    assert shown(document).split("\n")[-1] == last
