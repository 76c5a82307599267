"""Selection of rules, and the findings that no selection may hide."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.check.engine import check_text
from hccl_kit.check.result import Report
from hccl_kit.check.rules import RULE_BY_ID
from hccl_kit.check.selection import chosen_rules, narrowed
from hccl_kit.table.products import find_product
from tests.tables import text, value

LOOPBACK = text(1, 2).replace("10.0.0.1", "127.0.0.1").replace('"rank_id": "1"', '"rank_id": "0"')
"""An error (HK201) and a note (HK210)."""
ACROSS = json.dumps(value(1, 2)).replace('"device_id": "1"', '"device_id": "4"')
"""On 910 a warning (HK402)."""


def ids(report: Report) -> list[str]:
    return [found.rule for found in report.findings]


def test_a_rule_is_selected_by_its_id_or_a_prefix() -> None:
    assert chosen_rules(["HK203"]) == {"HK203"}
    assert chosen_rules(["hk2, HK301", "HK109"]) == {rule for rule in RULE_BY_ID if rule.startswith("HK2")} | {
        "HK301",
        "HK109",
    }
    assert chosen_rules(["HK"]) == set(RULE_BY_ID)
    assert chosen_rules([]) == set()


@pytest.mark.parametrize("wrong", ["HK299", "K2", "HK2,", "", "203", "HK2 HK3", "HK2031"])
def test_an_unknown_id_is_refused_with_a_suggestion(wrong: str) -> None:
    with pytest.raises(KitError) as caught:
        chosen_rules([wrong])
    assert "accepted: an id, its beginning or a name, such as HK" in caught.value.message
    assert caught.value.hint == "hccl-kit rules lists all"


@pytest.mark.parametrize(("typo", "meant"), [("HK2O3", "HK203"), ("HKI01", "HK101"), ("203", "HK203")])
def test_a_typo_in_an_id_gets_a_suggestion(typo: str, meant: str) -> None:
    with pytest.raises(KitError, match=f"such as {meant}, {meant[:3]} or "):
        chosen_rules([typo])


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(KitError, match=r"such as HK203, HK2 or duplicate-device$"):
        chosen_rules(["duplicate-devices"])
    with pytest.raises(KitError, match="no rule is named 'duplicate'"):  # a prefix of a name is not accepted
        chosen_rules(["duplicate"])


def test_select_and_ignore() -> None:
    report = check_text(LOOPBACK, "t.json")
    assert ids(report) == ["HK210", "HK201"]
    assert ids(narrowed(report, select=chosen_rules(["HK201"]))) == ["HK201"]
    assert ids(narrowed(report, ignore=chosen_rules(["HK201"]))) == ["HK210"]
    assert ids(narrowed(report, select=chosen_rules(["HK2"]), ignore=chosen_rules(["HK210"]))) == ["HK201"]
    assert ids(narrowed(report, select=chosen_rules(["HK210"]), ignore=chosen_rules(["HK2"]))) == []
    assert narrowed(report, ignore=chosen_rules(["HK201"])).ok


@pytest.mark.parametrize(
    ("document", "rule"), [("[", "HK001"), ("{}", "HK101"), ('{"status": "initializing"}', "HK109")]
)
def test_an_error_that_prevented_the_check_is_never_hidden(document: str, rule: str) -> None:
    report = check_text(document, "t.txt")
    narrow = narrowed(report, select=chosen_rules(["HK4"]), ignore=chosen_rules(["HK"]))
    assert set(ids(narrow)) == {rule}
    assert narrow.ok == report.ok


def test_strict_turns_only_warnings_into_errors() -> None:
    report = check_text(ACROSS, "t.json", find_product("910"))
    assert [(found.rule, found.severity) for found in report.findings] == [("HK402", "warning")]
    strict = narrowed(report, strict=True)
    assert [(found.rule, found.severity) for found in strict.findings] == [("HK402", "error")]
    assert (report.ok, strict.ok) == (True, False)
    note = narrowed(check_text(LOOPBACK, "t.json"), strict=True, ignore=chosen_rules(["HK201"]))
    assert [found.severity for found in note.findings] == ["note"]
    assert note.ok


def test_errors_only_drops_warnings_and_notes() -> None:
    assert ids(narrowed(check_text(LOOPBACK, "t.json"), errors_only=True)) == ["HK201"]
    report = check_text(ACROSS, "t.json", find_product("910"))
    assert ids(narrowed(report, errors_only=True)) == []
    assert ids(narrowed(report, errors_only=True, strict=True)) == ["HK402"]


@given(st.sets(st.sampled_from(sorted(RULE_BY_ID))), st.booleans(), st.booleans())
def test_a_selection_keeps_the_order_and_adds_no_finding(ignored: set[str], strict: bool, errors_only: bool) -> None:
    report = check_text(LOOPBACK, "t.txt")
    narrow = narrowed(report, ignore=frozenset(ignored), strict=strict, errors_only=errors_only)
    kept = set(ids(narrow))
    assert ids(narrow) == [rule for rule in ids(report) if rule in kept]
    assert not kept & ignored
