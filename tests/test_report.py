"""What people and programs get to see of a verdict."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.check import Report, check_text
from hccl_kit.document import decode
from hccl_kit.finding import Diagnostic, Span
from hccl_kit.products import find_product
from hccl_kit.report import as_json, as_text
from tests.tables import text, value


def shown(document: bytes | str, name: str = "t.json", color: bool = False) -> str:
    return as_text(check_text(document, name), decode(document), color)


def marking(line: str, column: int, width: int) -> list[str]:
    """The lines with the bar of a report on one fault in a one-line document."""
    found = Diagnostic("HK201", "error", (), Span(1, column, width), "said")
    shown = as_text(Report("t.json", "1.0", "910", (found,)), line, color=False)
    return [row for row in shown.split("\n") if " |" in row or "| " in row]


def test_a_finding_shows_its_place_its_source_and_the_other_place() -> None:
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
   = fix: no device has rank 1
t.json: 1 error"""
    )


def test_a_good_table_is_one_line() -> None:
    report = check_text(text(2, 8), "a/t.json", find_product("910"))
    assert as_text(report, text(2, 8), color=True) == "a/t.json: ok, version 1.0, 2 servers, 16 devices, product 910"
    assert shown(text(1, 1)).startswith(
        "t.json: ok, version 1.0, 1 server, 1 device, product auto (topology not judged"
    )


def test_carets_stand_under_wide_characters() -> None:
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


def test_a_fault_of_the_whole_file_shows_no_line() -> None:
    assert " | " not in shown(text(), "t.txt")


@given(st.text(max_size=200) | st.binary(max_size=200), st.text(max_size=10))
def test_nothing_in_a_file_or_its_name_reaches_the_terminal_raw(document: bytes | str, name: str) -> None:
    assert all(char.isprintable() or char == "\n" for char in shown(document, name))


def test_hostile_ids_reach_no_terminal_raw() -> None:
    document = (
        json.dumps(value(1, 2)).replace('"rank_id": "1"', '"rank_id": "0"').replace("10.0.0.1", "\\u001b[2J\\u202e")
    )
    assert shown(document).isascii()
    assert "\x1b" not in shown(document)


def test_a_long_list_is_cut_and_errors_come_first() -> None:
    warnings = [Diagnostic("HK999", "warning", (), Span(1, 1), "said")] * 150
    errors = [Diagnostic("HK201", "error", (), Span(2, 1), "said")] * 60
    report = Report("t.json", "1.0", "910", (*warnings, *errors))
    *rows, more, last = as_text(report, "{\n}", color=False).split("\n")
    heads = [row for row in rows if row.startswith("t.json:")]
    assert [len([row for row in heads if word in row]) for word in ("error:", "warning:")] == [60, 40]
    assert more == "t.json: 110 more findings; --format json lists all"
    assert last == "t.json: 60 errors, 150 warnings"
    assert len(json.loads(as_json([report]))["results"][0]["findings"]) == 210


def test_a_list_of_as_many_as_are_shown_is_whole() -> None:
    errors = [Diagnostic("HK201", "error", (), Span(2, 1), "said")] * 99
    found = (Diagnostic("HK999", "warning", (), Span(1, 1), "said"), *errors)
    text = as_text(Report("t.json", "1.0", "910", found), "{\n}", color=False)
    assert text.startswith("t.json:1:1: HK999 warning: said")
    assert "more finding" not in text


def test_color_only_adds_color() -> None:
    document = json.dumps(value(1, 2)).replace('"rank_id": "1"', '"rank_id": "0"')
    colored = shown(document, color=True)
    assert "\x1b[31mHK201 error:\x1b[0m" in colored
    assert re.sub("\x1b\\[[0-9]+m", "", colored) == shown(document)


@pytest.mark.parametrize(
    ("document", "last"),
    [
        ('{"status": "initializing"}', "t.json: not ready, 1 warning"),
        ("[", "t.json: 1 error"),
        ("\ufeff{}", "t.json: 3 errors, 1 warning"),
        (json.dumps(value() | {"server_list": [1, 2]}), "t.json: 2 errors"),
    ],
)
def test_the_last_line_sums_up(document: str, last: str) -> None:
    assert shown(document).split("\n")[-1] == last


def test_the_json_form_is_the_one_promised() -> None:
    bad = json.dumps(value(1, 2)).replace('"rank_id": "1"', '"rank_id": "0"')
    note = text(1, 1).replace("10.0.0.1", "127.0.0.1")
    written: Any = json.loads(as_json([check_text(bad, "服.json"), check_text(note, "n.json", find_product("a2"))]))
    assert written == {
        "version": 1,
        "results": [
            {
                "file": "服.json",
                "format": "1.0",
                "product": "auto",
                "ok": False,
                "findings": [
                    {
                        "rule": "HK201",
                        "severity": "error",
                        "pointer": "/server_list/0/device/1/rank_id",
                        "line": 1,
                        "column": bad.rindex('"0"') + 1,
                        "message": 'rank 0 is already taken by device 0 of server "10.0.0.1"',
                        "hint": "no device has rank 1",
                        "hccl_error": "EI0014",
                    }
                ],
            },
            {
                "file": "n.json",
                "format": "1.0",
                "product": "a2",
                "ok": True,
                "findings": [
                    {
                        "rule": "HK210",
                        "severity": "note",
                        "pointer": "/server_list/0/server_id",
                        "line": 6,
                        "column": 26,
                        "message": 'server id "127.0.0.1" is a loopback address: good for one server,'
                        " not for merging with others",
                        "hint": None,
                        "hccl_error": None,
                    }
                ],
            },
        ],
    }
