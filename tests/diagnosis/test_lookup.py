"""Lookup of a rule by its id, its name, an error code or an error text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.answer_text import MAX_PAGES, as_page
from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.diagnosis.errors.table import CODES
from hccl_kit.diagnosis.lookup import MAX_TEXT, explain
from hccl_kit.diagnosis.variable_pages import PAGES


def rules_of(text: str) -> list[str]:
    return [rule.id for rule in explain(text).rules]


def told_by(text: str) -> list[str]:
    """The sentences of the explanation, with the values of the text."""
    return [sentence for answer in explain(text).answers for sentence in answer.says]


def sentence(value: str, variable: str, expected: str = "") -> str:
    """HCCL's message of EI0014."""
    return f"EI0014: Value {value} for ranktable variable {variable} is invalid. Expected value: {expected}."


def test_every_rule_is_found_by_its_id_and_by_its_name() -> None:
    for rule in CATALOGUE:
        assert explain(rule.id).rules == (rule,)
        assert rule in explain(f"see {rule.id.lower()}, please").rules
        assert explain(rule.name).rules == (rule,)
        assert explain(f"{rule.name.upper()}, HK203").rules == tuple(dict.fromkeys([rule, *explain("HK203").rules]))
        assert as_page(explain(rule.name)).startswith(f"{rule.id} {rule.name} ({rule.severity}")


def test_a_rule_name_inside_a_log_line_does_not_select_the_rule() -> None:
    assert explain("EI0004: link-down").rules == explain("EI0004").rules


@pytest.mark.parametrize("code", CODES)
def test_a_code_gives_all_rules_with_this_code(code: str) -> None:
    found = explain(code)
    assert found.codes == (code,)
    assert list(found.rules) == [rule for rule in CATALOGUE if rule.hccl_error == code]
    assert as_page(found).startswith(f"{code}: ")
    of_tables = [rule for rule in found.rules if rule.family != "HK7"]
    assert not (of_tables and "no rule of a table" in CODES[code].lower())


def test_every_code_documented_by_hccl_is_explained() -> None:
    assert {f"EI{number:04}" for number in range(1, 21)} <= set(CODES)


@pytest.mark.parametrize("code", ["EI0014", "EI0017"])
def test_the_codes_that_replace_it_in_newer_releases_are_named(code: str) -> None:
    assert code in CODES["EI0016"] and "root info" in CODES["EI0016"]


def test_every_code_of_a_rule_is_explained() -> None:
    assert {rule.hccl_error for rule in CATALOGUE if rule.hccl_error} <= set(CODES)


def test_an_unknown_variable_gives_all_rules_of_the_code() -> None:
    found = explain("Value 3 for ranktable variable fooBar is invalid.")
    assert (found.codes, found.answers[0].says) == (("EI0014",), ("HCCL found 3 for fooBar",))
    assert found.rules == explain("EI0014").rules


def test_braces_in_a_pasted_text_are_literal() -> None:
    found = explain(sentence("{expected}", "server_count", "{0}"))
    assert found.answers[0].says[0] == "HCCL found {expected} for server_count; it expects: {0}"


def test_an_id_prefix_gives_the_rules_of_the_family() -> None:
    assert list(explain("HK2").rules) == [rule for rule in CATALOGUE if rule.id.startswith("HK2")]
    page = as_page(explain("HK2"))
    assert re.sub(" +", " ", page).startswith(
        "matching rules, with the name of the error in HCCL:\nHK201 duplicate-rank rank_id"
    )


def test_several_errors_in_one_text_are_all_explained() -> None:
    line = "ranktable config devId[1],but local devId[3]"
    log = "\n".join([sentence("2", "server_count", "1"), sentence("3", "devNum", "1, 2 or 4"), line])
    assert rules_of(log) == ["HK207", "HK401"]
    assert [answer.line for answer in explain(log).answers] == [1, 2, 3]
    assert len(told_by(log)) == 6


def test_few_rules_are_shown_with_their_page_and_many_with_a_line() -> None:
    page = as_page(explain("HK203"))
    assert page.startswith(
        "HK203 duplicate-device (error): A server lists a device twice.\n\nWhat:           two devices"
    )
    both = as_page(explain("HK203 HK207"))
    assert both.index("HK203 duplicate-device (error)") < both.index("HK207 server-count-mismatch (error)")
    many = as_page(explain("EI0014"))
    assert "What:" not in many
    assert re.search("^HK203  duplicate-device +Device Id of server Id X", many, re.MULTILINE)
    assert len(explain("EI0014").rules) > MAX_PAGES


def test_every_variable_with_a_page_is_explained_with_use_and_source() -> None:
    for name, facts in PAGES.items():
        for written in (name, f"{name}=x"):
            page = as_page(explain(written), 10_000)
            assert page.startswith(f"{name}: {facts.does}")
            for paragraph in (f"Use: {facts.when}", f"Agrees with: {facts.agrees}", f"Source: {facts.source}"):
                assert f"\n{paragraph}" in page
        assert re.search("20[0-9]{2}-[0-9]{2}", facts.source), name


def test_a_variable_is_explained_with_what_hccl_accepts() -> None:
    page = as_page(explain("HCCL_RDMA_TIMEOUT"), 200)
    ranges = "5 to 24; on a2, a2-box16, a3 5 to 20; on a5 0 to 4294967295"
    assert page.startswith(f"HCCL_RDMA_TIMEOUT: a variable of HCCL; accepted: {ranges}\n")
    assert "; AICPU_TS from CANN 9.1 on\n" in as_page(explain("HCCL_OP_EXPANSION_MODE"), 300)


def test_the_value_of_a_variable_is_shown_without_control_characters() -> None:
    (answer,) = explain("HCCL_RDMA_TIMEOUT=\x1b[2J").answers
    assert answer.says == ("'\\x1b[2J' is not accepted by CANN 8.0 to 9.1",)


@pytest.mark.parametrize(
    "text", ["HK999", "HK2031", "EI0099", "EJ0099", "server_cuont", "something else entirely", "HK203 HK999"]
)
def test_an_unknown_code_is_reported_and_no_other_code_is_named(text: str) -> None:
    with pytest.raises(KitError, match="no rule, code or message matches") as caught:
        explain(text)
    assert "nearest" not in caught.value.render()


@given(
    st.text()
    | st.lists(st.sampled_from(["Value ", "for ranktable variable ", "x", "\n", "HK203", "EI0014"])).map("".join)
)
def test_any_text_is_explained_or_refused(text: str) -> None:
    try:
        assert as_page(explain(text))
    except KitError as error:
        assert error.message.startswith("no rule, code or message matches ")


def test_a_long_text_is_searched_quickly() -> None:
    with pytest.raises(KitError):
        explain("x" * MAX_TEXT + " HK203")
    with pytest.raises(KitError):
        explain("Value for ranktable variable " * 100_000)
    with pytest.raises(KitError):
        explain("Value " * 1_000_000)
