"""The check accepts any input, and reports one finding per mistake."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.table.document import parse
from hccl_kit.table.formats import write
from hccl_kit.table.ip import parse_address
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import PRODUCTS, find_product
from hccl_kit.table.source import HCCL_MAX_BYTES, MAX_CONTAINERS, STDIN
from tests.changes import changed, leaves, put
from tests.tables import json_values, ranks_value, tables, text, value

products = st.sampled_from([None, *PRODUCTS])


@given(st.text() | st.binary() | json_values.map(json.dumps) | tables.map(write), products)
def test_checking_never_fails_on_any_input(data: bytes | str, product: Any) -> None:
    report = check_text(data, STDIN, product)
    assert report.ok == (not any(found.severity == "error" for found in report.findings))
    assert report.ok or report.findings
    lines = [(found.span.line, found.span.column) for found in report.findings]
    assert lines == sorted(lines)
    assert [found.hccl_error for found in report.findings if found.severity != "error" and found.hccl_error] == []


@given(st.integers(1, 4), st.sampled_from([1, 2, 4, 8]), products.filter(lambda p: p is None or p.name != "a5"))
def test_a_valid_table_has_no_finding(servers: int, cards: int, product: Any) -> None:
    report = check_text(text(servers, cards), "t.json", product)
    assert report.findings == ()
    assert report.table is not None
    assert report.table.world_size == servers * cards


GOOD = value(servers=2, cards=2)
FIELDS = [pointer for pointer in leaves(GOOD) if pointer[-1] != "host_nic_ip"]
PLAUSIBLE = ("0", "1", "2", "4", "99", "10.0.0.1", "192.168.100.1", "127.0.0.1", "", "fd00::1", "198.18.")


@settings(max_examples=300)
@given(st.sampled_from(FIELDS), st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just([]))
def test_one_changed_field_is_reported_at_its_position(pointer: Pointer, replacement: Any) -> None:
    check_one_change(changed(GOOD, put(*pointer, replacement)), pointer, replacement)


def test_one_field_changed_to_a_plausible_value_is_reported_at_its_position() -> None:
    for pointer in FIELDS:
        for replacement in PLAUSIBLE:
            check_one_change(changed(GOOD, put(*pointer, replacement)), pointer, replacement)


def check_one_change(document: Any, pointer: Pointer, replacement: Any) -> None:
    after = json.dumps(document)
    report = check_text(after, "t.json")
    if not report.findings:
        assert after == json.dumps(GOOD) or is_free_choice(str(pointer[-1]), replacement)
        return
    (found,) = report.findings
    # The later of two equal values is reported, so the changed one may be the other.
    others = [other.span for other in found.related]
    assert found.pointer in (pointer, pointer[:-1]) or parse(after, STDIN).locate(pointer) in others


def is_free_choice(key: str, replacement: Any) -> bool:
    """Whether another value of the key may be as valid as the original one."""
    if not isinstance(replacement, str):
        return False
    free_address = key == "device_ip" and parse_address(replacement) is not None
    return key == "server_id" or free_address or (key == "device_id" and replacement.isdecimal())


def test_a_version_that_the_product_does_not_read_is_an_error() -> None:
    for product in PRODUCTS:
        rules = [found.rule for found in check_text(text(), "t.json", product).findings]
        assert rules == ([] if "1.0" in product.table_versions else ["HK108"])
    template_2 = check_text('{"group_list": []}', "t.json", find_product("a3"))
    assert [found.rule for found in template_2.findings] == ["HK108"]
    assert template_2.format == "template2"
    assert "version 1.0 and version 1.2" in template_2.findings[0].message


def test_an_unfinished_table_is_reported_and_not_checked() -> None:
    for document in ({"status": "initializing"}, value() | {"status": "initializing", "server_list": []}):
        report = check_text(json.dumps(document), "t.json")
        assert [(found.rule, found.severity) for found in report.findings] == [("HK109", "warning")]
        assert report.ok
        assert report.table is None


def test_an_error_in_the_text_stops_the_check_but_a_warning_does_not() -> None:
    bad_rank = text(1, 2).replace('"rank_id": "1"', '"rank_id": "0"')
    assert [found.rule for found in check_text(bad_rank + "}", "t.json").findings] == ["HK001"]
    assert [found.rule for found in check_text("\ufeff" + bad_rank, "t.txt").findings] == ["HK003", "HK008", "HK201"]


@pytest.mark.parametrize(
    ("document", "rules"),
    [(text(), ["HK007"]), (text().replace('"rank_id": "7"', '"rank_id": "6"'), ["HK007", "HK201"])],
)
def test_a_file_larger_than_hccl_reads_is_still_checked(document: str, rules: list[str]) -> None:
    report = check_text(document + " " * HCCL_MAX_BYTES, "t.json")
    assert [found.rule for found in report.findings] == rules
    assert report.table is not None


def test_version_2_may_be_larger() -> None:
    assert check_text(json.dumps(ranks_value()) + " " * HCCL_MAX_BYTES, "t.json").findings == ()


def test_rejects_a_text_with_too_many_brackets() -> None:
    (found,) = check_text("[" + "[]," * MAX_CONTAINERS + "[]]", STDIN).findings
    assert found.rule == "HK009"
