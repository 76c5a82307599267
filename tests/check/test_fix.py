"""Fixes: a value with exactly one correct answer is written, and everything else stays byte for byte."""

import difflib
import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.check.fix import MAX_CHANGED, MAX_ROUNDS, edited, fix_text, line_diff
from hccl_kit.check.result import Report
from hccl_kit.table.document import decode, parse
from hccl_kit.table.finding import Edit
from hccl_kit.table.source import HCCL_MAX_BYTES, STDIN
from tests.check.rules.test_golden import FOLDERS, product_of
from tests.tables import json_values, pods_text, text, value

Replace = Callable[[str], str]


def swap(old: str, new: str) -> Replace:
    return lambda source: source.replace(old, new)


SLIPS: list[Replace] = [
    swap('"server_count": "2"', '"server_count": "1"'),
    swap('"server_count": "2"', '"server_count": 2'),
    swap('"server_count": "2"', '"server_count": " 2"'),
    swap('"version": "1.0"', '"version": 1.0'),
    swap('"version"', '"verison"'),
    swap('"server_list"', '"serverList"'),
    swap('"device":', '"devices":'),
    swap('"device_id"', '"devcie_id"'),
    swap('"completed"', '"Complete"'),
    swap('"completed"', '"completed "'),
    swap('"192.168.102.1"', '" 192.168.102.1"'),
    swap('"192.168.103.1"', '"192.168.103.1\\u3000"'),
    swap('"rank_id": "7"', '"rank_id": "70"'),
    lambda source: re.sub('"rank_id": "([0-7])0?"', r'"rank_id": "2\1"', source),  # 20 to 27, whatever was before
    lambda source: re.sub('"rank_id": "([0-9]+)"', r'"rank_id": \1', source),
    lambda source: re.sub('"device_id": "([0-9]+)"', r'"device_id": \1', source),
    lambda source: "\ufeff" + source,
    swap("\n", "\r\n"),
    swap("    ", "\t"),
]
"""Each breaks a table of two servers in a way that has exactly one fix, or does not break it."""


def spoilt(chosen: list[int]) -> str:
    source = text(2, 4)
    for index in chosen:
        source = SLIPS[index](source)
    return source


@given(st.lists(st.sampled_from(range(len(SLIPS))), unique=True))
def test_every_mix_of_typos_is_fixed(chosen: list[int]) -> None:
    source = spoilt(chosen)
    outcome = fix_text(source, "t.json")
    assert outcome.report.findings == ()
    assert outcome.report == check_text(outcome.text, "t.json")
    assert bool(outcome.applied) == (source != outcome.text)
    again = fix_text(outcome.text, "t.json")
    assert (again.text, again.applied) == (outcome.text, ())


@given(st.lists(st.sampled_from(range(len(SLIPS))), unique=True))
def test_only_the_edited_values_change(chosen: list[int]) -> None:
    """Compares line by line without keys, strings and numbers: the rest is identical."""
    source = spoilt(chosen)

    def frame(lines: str) -> list[str]:
        return [re.sub(r'"[^"]*"|[0-9.]+', "", line) for line in lines.removeprefix("\ufeff").split("\n")]

    result = fix_text(source, "t.json").text
    assert frame(result) == frame(source)
    if not chosen:
        assert result == source


def ranked(*ranks: str) -> str:
    """A table of one server whose devices have these ranks."""
    document = value(1, len(ranks))
    for device, rank in zip(document["server_list"][0]["device"], ranks, strict=True):
        device["rank_id"] = rank
    return json.dumps(document)


@pytest.mark.parametrize(
    ("found", "right"),
    [
        ("0 8 2 3", "0 1 2 3"),  # only the typo is changed
        ("3 0 70 01", "3 0 2 01"),  # also in another order, and the text of the others stays
        ("0 2", "0 1"),
        ("8 9 10 11", "0 1 2 3"),  # the second half of a table that was split in two
        ("13 10 11 12", "3 0 1 2"),
        ("7", "0"),
    ],
)
def test_a_rank_out_of_range_gets_the_only_free_number(found: str, right: str) -> None:
    outcome = fix_text(ranked(*found.split()), "t.json")
    assert outcome.text == ranked(*right.split())
    assert [found.rule for found in outcome.applied] == ["HK202"]


@pytest.mark.parametrize("ranks", ["30 0 7 08", "1 2 3 4", "1 2", "0 8 9 3", "4 6 8 10", "8 9 10 12"])
def test_ambiguous_rank_numberings_are_not_fixed_but_reported(ranks: str) -> None:
    outcome = fix_text(ranked(*ranks.split()), "t.json")
    assert (outcome.text, outcome.applied) == (ranked(*ranks.split()), ())
    assert [found.rule for found in outcome.report.findings] == ["HK202"]
    assert "more than one numbering is possible" in (outcome.report.findings[0].hint or "")


def broken(change: Callable[[Any], Any]) -> str:
    document = value(2, 4)
    change(document)
    return json.dumps(document, indent=4)


def first(document: Any) -> Any:
    return document["server_list"][0]["device"][0]


def test_ambiguous_values_are_not_fixed() -> None:
    for source, rules in (
        (
            broken(lambda d: first(d).update(rank_id="9" * 5)).replace('"rank_id": "3"', '"rank_id": "2"'),
            ["HK202", "HK201"],
        ),
        (broken(lambda d: first(d).update(device_id="1")), ["HK203"]),
        (broken(lambda d: first(d).pop("rank_id")), ["HK101"]),
        (broken(lambda d: d.update(version="3.0")), ["HK107"]),
        (broken(lambda d: d.update(version=1)), ["HK102"]),
        (broken(lambda d: d.update(status="done")), ["HK110"]),
        (broken(lambda d: d.update(status="initializing")), ["HK109"]),
        (broken(lambda d: d["server_list"][1].update(server_id="10.0.0.1")), ["HK205"]),
        (broken(lambda d: first(d).update(device_ip="192.168.101.1")), ["HK302"]),
        (broken(lambda d: first(d).update(device_ip="-1")), ["HK301"]),
        (broken(lambda d: first(d).update(device_ip=" ")), ["HK301"]),
        (broken(lambda d: d["server_list"][0].update(host_ip="")), ["HK307"]),
        (broken(lambda d: d["server_list"][0].update(host_ip="10.0.0.1,10.0.0.2")), ["HK307"]),
        (broken(lambda d: first(d).update(device_id=True)), ["HK102"]),
        (broken(lambda d: first(d).update(device_id=-1)), ["HK102"]),
        (broken(lambda d: first(d).update(device_id=0.0)), ["HK102"]),
        (broken(lambda d: first(d).update(device_id="one")), ["HK104"]),
        (broken(lambda d: d.update(server_list=7)), ["HK102"]),
        (text().replace('"rank_id": "0"', '"rank": "0"'), ["HK101"]),
        (text().replace('"rank_id": "0"', '"rank_ib": "0", "rank_ic": "0"'), ["HK101"]),
        (text()[:-1] + ",}", ["HK001"]),
        (text().replace('"0",', '"0", "device_id": "0",'), ["HK004"]),
        ("[]", ["HK102"]),
    ):
        outcome = fix_text(source, "t.json")
        assert (outcome.text, outcome.applied) == (source, ()), (source, rules)
        assert [found.rule for found in outcome.report.findings] == rules, (source, rules)


def test_a_fix_does_not_make_an_accepted_table_invalid() -> None:
    """HCCL ignores a misspelled key; under its correct name, it would check the address."""
    source = pods_text().replace('"device_ip": "192.168.100.1"', '"evice_ip": "{192.168.100.1"')
    before = check_text(source, "t.json")
    assert before.ok
    assert [(found.rule, len(found.fix)) for found in before.findings] == [("HK305", 1)]
    outcome = fix_text(source, "t.json")
    assert (outcome.text, outcome.applied) == (source, ())
    assert [(found.rule, found.fix) for found in outcome.report.findings] == [("HK305", ())]
    assert fix_text(source.replace("{192", "192"), "t.json").report.findings == ()


@given(st.text() | st.binary() | json_values.map(json.dumps))
def test_fixing_never_fails_and_leaves_other_input_unchanged(data: bytes | str) -> None:
    outcome = fix_text(data, STDIN)
    if not outcome.applied:
        assert (outcome.text, outcome.report) == (decode(data), check_text(data, STDIN))


@settings(max_examples=300)
@given(st.lists(st.sampled_from(range(len(SLIPS))), unique=True, max_size=3), st.data())
def test_a_damaged_table_never_gets_worse(chosen: list[int], data: st.DataObject) -> None:
    """A valid table stays valid, a parsed one stays parsed, no fixable finding is left, and fixing is idempotent."""
    source = spoilt(chosen)
    at = data.draw(st.integers(0, len(source) - 1))
    piece = data.draw(st.sampled_from(["0", "1", " ", '"', "-", "x", "", "192.168.100.1", "{", "1.0"]))
    source = source[:at] + piece + source[at + data.draw(st.integers(0, 2)) :]
    before, outcome = check_text(source, "t.json"), fix_text(source, "t.json")
    assert outcome.report.ok or not before.ok
    assert outcome.report.table or not before.table
    assert not any(found.fix for found in outcome.report.findings)
    again = fix_text(outcome.text, "t.json")
    assert (again.text, again.applied) == (outcome.text, ())
    if before.table and outcome.report.table:  # no finding was hidden by the structure error
        assert errors_of(outcome.report) <= errors_of(before)


def errors_of(report: Report) -> int:
    return sum(found.severity == "error" for found in report.findings)


def test_the_bad_table_of_every_rule_with_a_fix_is_fixed() -> None:
    for folder in FOLDERS:
        bad = next(path for path in folder.iterdir() if path.name.startswith("bad.json"))
        before = check_text(bad.read_bytes(), bad.name, product_of(folder))
        outcome = fix_text(bad.read_bytes(), bad.name, product_of(folder))
        fixable = {found.rule for found in before.findings if found.fix or found.rule == "HK003"}
        assert fixable.isdisjoint(found.rule for found in outcome.report.findings)
        assert {found.rule for found in outcome.applied} >= fixable
        assert not fixable or outcome.report.ok, folder


def test_an_edit_is_made_at_its_pointer() -> None:
    document = parse('{"a": {"b": "1", "c": [2, 3]}, "b" : "1"}', STDIN)
    edits = [
        Edit(("a", "c", 1), '"three"'),
        Edit(("a", "b"), "10"),
        Edit(("b",), '"d"', on_key=True),
        Edit(("a",), '"e"', on_key=True),
        Edit(("a", "b"), "11"),
    ]
    assert edited(document, edits) == '{"e": {"b": 10, "c": [2, "three"]}, "d" : "1"}'


def test_more_findings_than_are_reported_are_fixed_at_once() -> None:
    document = value(200, 8)
    for server in document["server_list"]:
        for device in server["device"]:
            device.update(device_id=int(device["device_id"]), rank_id=int(device["rank_id"]))
    outcome = fix_text(json.dumps(document), "t.json")
    assert outcome.report.ok
    assert len(outcome.applied) == 3200


def test_several_byte_order_marks_are_one_finding() -> None:
    outcome = fix_text("\ufeff\ufeff\ufeff" + text(), "t.json")
    assert outcome.text == text()
    assert [found.rule for found in outcome.applied] == ["HK003"]


def test_the_rounds_are_enough_for_mistakes_that_hide_each_other() -> None:
    """The byte order mark, the version, the list, its keys, their types, the rules."""
    source = text(2, 4).replace('"version": "1.0"', '"verison": 1.0').replace('"server_list"', '"serverlist"')
    source = "\ufeff" + re.sub('"rank_id": "([0-9]+)"', r'"rank-id": 3\1', source.replace('"device":', '"devices":'))
    outcome = fix_text(source, "t.json")
    assert outcome.report.findings == ()
    assert len({found.rule for found in outcome.applied}) <= MAX_ROUNDS


@pytest.mark.parametrize("source", ["null", "[]", "{", '{"version": "1.0"}', text().replace('"0"', '"7"', 1)])
def test_the_report_of_an_unfixable_table_is_that_of_the_check(source: str) -> None:
    report = check_text(source, "t.json")
    assert not report.ok
    assert fix_text(source, "t.json").report == report


def test_a_valid_table_that_is_too_large_keeps_its_finding() -> None:
    source = text() + " " * HCCL_MAX_BYTES
    outcome = fix_text(source, "t.json")
    assert outcome.text == source
    assert [found.rule for found in outcome.report.findings] == ["HK007"]


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_equals_the_unified_diff_of_difflib(is_changed: list[bool]) -> None:
    before = [f"line {n}" for n in range(len(is_changed))]
    after = [
        f"changed {n}" if change else line for n, (line, change) in enumerate(zip(before, is_changed, strict=True))
    ]
    lines = list(line_diff("\n".join(before) + "\n", "\n".join(after) + "\n", "t.json"))
    expected = difflib.unified_diff(before, after, "t.json", "t.json", lineterm="")
    # Only the header of a hunk of one line is written shorter there.
    assert [line.replace(",1 ", " ") for line in lines] == [line.replace(",1 ", " ") for line in expected]


def test_many_changes_are_counted() -> None:
    lines = list(line_diff("a\n" * 200_000, "b\n" * 200_000, "t.json"))
    assert sum(line.startswith("-a") for line in lines) == MAX_CHANGED
    assert lines[-1] == f"... and {200_000 - MAX_CHANGED} more changed lines"
    assert len(lines) == 2 * MAX_CHANGED + 4


def test_a_long_line_is_cut_around_its_change() -> None:
    begin = time.process_time()
    before, after = ("x" * 5_000_000 + word + "y" * 100 for word in ("old", "new"))
    lines = list(line_diff(before, after, "t.json"))
    assert time.process_time() - begin < 5
    assert max(map(len, lines)) < 300
    assert "old" in lines[3]
    assert "new" in lines[4]
    assert lines[3].startswith("-...x")


def test_control_characters_are_replaced() -> None:
    lines = list(line_diff("\x1b[31m\n\ufeff\r\n", "\x1b[32m\n\r\n", "a\x1b.json"))
    assert all(line.isprintable() for line in lines)
    assert lines[-2:] == ["+\N{REPLACEMENT CHARACTER}[32m", "+"]
