"""Membership of servers in super pods as HCCL reads it on Atlas A3, with one finding per mistake."""

import copy
import json
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.table.document import parse
from hccl_kit.table.formats import write
from hccl_kit.table.model import RankTable
from hccl_kit.table.products import PRODUCTS, Product, find_product
from hccl_kit.table.source import STDIN
from tests.changes import at, leaves
from tests.tables import pod_tables, pods_text, pods_value


def found(value: Any, product: str | None = None) -> list[tuple[str, str]]:
    """Rule and severity of each finding about a document."""
    report = check_text(json.dumps(value), "t.json", find_product(product) if product else None)
    return [(found.rule, found.severity) for found in report.findings]


def listed(*pods: tuple[str, tuple[int, ...]], servers: int = 4) -> Any:
    """A table of `servers` servers, and super pods that list some of them by their index."""
    value = pods_value(1, servers, 2)
    names = [server["server_id"] for server in value["server_list"]] + ["10.9.9.9", "10.9.9.8"]
    return value | {
        "super_pod_list": [
            {"super_pod_id": name, "server_list": [{"server_id": names[index]} for index in indexes]}
            for name, indexes in pods
        ]
    }


@settings(max_examples=30)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 16))
def test_a_valid_table_has_no_finding(pods: int, servers: int, cards: int) -> None:
    report = check_text(pods_text(pods, servers, cards), "t.json")
    assert report.findings == ()
    assert report.product == "a3"


@given(pod_tables, st.sampled_from(PRODUCTS), st.none() | st.integers(0, 128))
def test_any_table_is_checked(table: RankTable, product: Product, prefix: int | None) -> None:
    report = check_text(write(table), "t.json", product._replace(prefix=prefix))
    assert report.ok == (not any(found.severity == "error" for found in report.findings))


@pytest.mark.parametrize("product", [p.name for p in PRODUCTS if "1.0" in p.table_versions and not p.has_super_pods])
def test_other_products_ignore_super_pods_with_a_warning(product: str) -> None:
    broken = listed(("", (0, 0)), ("", (4,)))
    broken["server_list"][0]["device"][0].pop("super_device_id")
    for value in (pods_value(1, 2, 2), broken):
        assert found(value, product) == [("HK111", "warning")]


def test_version_1_0_ignores_super_pods() -> None:
    assert found(listed(("", (5,))) | {"version": "1.0"}, "a3") == [("HK118", "note")] * 2


def test_mistakes_in_super_pod_lists() -> None:
    for pods, expected in (
        ((("0", (0, 1, 2, 3)),), []),
        ((("a", (0, 1)), ("b", (2, 3))), []),
        ((("p" * 127, (0, 1, 2, 3)),), []),
        ((("p" * 128, (0, 1, 2, 3)),), ["HK211"]),
        ((("", (0, 1)), ("", (2, 3))), ["HK211", "HK211"]),
        ((("星" * 43, (0, 1, 2, 3)),), ["HK211"]),
        ((("0", (0, 1)), ("0", (2, 3))), ["HK212"]),
        ((("0", (0, 1)), ("1", (2,)), ("0", (3,))), ["HK212"]),
        ((("0", (0, 1, 2, 3, 4)),), ["HK213"]),
        ((("0", (0, 1, 2, 4)),), ["HK213"]),
        ((("0", (0, 1, 4, 5)),), ["HK213", "HK213"]),
        ((("0", (0, 1, 2)),), ["HK214"]),
        ((("0", (0, 1)),), ["HK214", "HK214"]),
        ((), ["HK214"]),
        ((("0", ()),), ["HK214"] * 4),
        ((("0", (0, 1, 2, 2)),), ["HK214"]),
        ((("0", (0, 1)), ("1", (1, 2, 3))), ["HK215"]),
        ((("0", (0, 1, 3)), ("1", (2, 3))), ["HK215"]),
        ((("0", (0, 1)), ("1", (1, 2, 3)), ("2", (1,))), ["HK215", "HK215"]),
        ((("0", (0, 1)), ("1", (1, 2))), ["HK214"]),
        ((("0", (0, 1, 2, 3, 0)),), ["HK218"]),
        ((("0", (0, 2)), ("1", (1, 3))), ["HK407"]),
        ((("0", (0, 3)), ("1", (1, 2))), ["HK407"]),
        ((("1", (2, 3)), ("0", (1, 0))), []),
        ((("0", (0, 1, 2, 3)), ("1", ())), ["HK409"]),
        ((("0", (0, 1, 2)), ("1", ())), ["HK214"]),
    ):
        assert [rule for rule, _ in found(listed(*pods))] == expected, (pods, expected)


def test_severity_follows_hccl_except_for_a_server_in_two_super_pods() -> None:
    severities = dict(
        rule
        for pods in (
            (("0", (0, 1)), ("1", (1, 2, 3))),
            (("0", (0, 1, 2, 3, 0)),),
            (("0", (0, 2)), ("1", (1, 3))),
            (("0", (0, 1, 2, 3)), ("1", ())),
        )
        for rule in found(listed(*pods))
    )
    assert severities == {"HK215": "error", "HK218": "warning", "HK407": "warning", "HK409": "error"}


def test_a_single_server_may_have_a_loopback_address() -> None:
    table = pods_value(1, 1, 2)
    table["server_list"][0]["server_id"] = "127.0.0.1"
    report = check_text(json.dumps(table), "t.json")
    assert [(one.rule, one.hccl_error) for one in report.findings] == [("HK210", None), ("HK213", "EI0014")]
    table["super_pod_list"][0]["server_list"][0]["server_id"] = "127.0.0.1"
    assert check_text(json.dumps(table), "t.json").ok


def test_suggests_the_most_similar_server() -> None:
    (found,) = check_text(json.dumps(listed(("0", (0, 1, 2, 4)))), "t.json").findings
    assert found.hint == 'did you mean "10.0.0.4"? It is in no super pod'
    for servers in ((0, 1, 2, 3, 4), (0, 1, 4)):
        (found,) = check_text(json.dumps(listed(("0", servers))), "t.json").findings
        assert "did you mean" not in (found.hint or "")
    (found,) = check_text(json.dumps(listed(("0", (0, 1, 2, 2)))), "t.json").findings
    assert [message for _, message, _ in found.related] == ['server "10.0.0.3" is listed twice']


def test_a_table_without_super_pod_list_has_plain_servers() -> None:
    value = pods_value(1, 2, 2)
    del value["super_pod_list"]
    assert found(value) == []
    for server in value["server_list"]:
        for device in server["device"]:
            del device["super_device_id"]
    assert found(value) == []


GOOD = pods_value(2, 2, 2)
REPLACEMENTS = ("0", "1", "3", "65537", "4194304", "10.0.0.1", "10.0.0.3", "10.9.9.9", "127.0.0.1", "")


def test_one_changed_field_gives_one_finding_at_its_position() -> None:
    for pointer, replacement in product(leaves(GOOD), REPLACEMENTS):
        document = copy.deepcopy(GOOD)
        at(document, pointer[:-1])[pointer[-1]] = replacement
        text = json.dumps(document)
        report = check_text(text, "t.json")
        if not report.findings:
            free = ("device_id", "device_ip", "super_device_id", "super_pod_id")
            assert document == GOOD or pointer[-1] in free
            continue
        assert len(report.findings) == 1, report.findings
        (found,) = report.findings
        others = [other.span for other in found.related]
        is_there = found.pointer in (pointer, pointer[:-1]) or parse(text, STDIN).locate(pointer) in others
        # A renamed server is reported as missing from the list of its super pod, and vice versa.
        assert is_there or pointer[-1] == "server_id" or found.rule == "HK219"


CHANGES: list[tuple[str, Callable[[Any], Any]]] = [
    ("HK101", lambda value: value["super_pod_list"][0].pop("super_pod_id")),
    ("HK101", lambda value: value["super_pod_list"][0].pop("server_list")),
    ("HK101", lambda value: value["super_pod_list"][0]["server_list"][0].pop("server_id")),
    ("HK102", lambda value: value["super_pod_list"][0].update(super_pod_id=0)),
    ("HK102", lambda value: value.update(super_pod_list={})),
    ("HK102", lambda value: value["server_list"][0]["device"][0].update(super_device_id=0)),
    ("HK103", lambda value: value["server_list"][0]["device"][0].update(super_device_id="0x1")),
]


def test_a_structure_that_is_not_valid_is_one_finding() -> None:
    for rule, change in CHANGES:
        value = copy.deepcopy(GOOD)
        change(value)
        assert found(value) == [(rule, "error")], (rule, change)
