"""Version 1.1: ranks and addresses are checked, and a note reports that the rest is not."""

import json
from typing import Any

from hccl_kit.check.engine import check_text
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import PRODUCTS
from tests.changes import changed, put
from tests.groups import nodes


def findings(document: Any) -> list[tuple[str, Pointer]]:
    first, *others = check_text(json.dumps(document), "t.json").findings
    assert (first.rule, first.severity, first.pointer) == ("HK236", "note", ("version",))
    return [(found.rule, found.pointer) for found in others]


RANK: Pointer = ("node_list", 1, "ranks", 0)


def test_ranks_and_addresses_are_reported_at_their_position() -> None:
    for pointer, value, rule in (
        (("node_list", 1, "node_addr"), "10.0.0.1", "HK235"),
        (("node_list", 1, "node_addr"), "node1", "HK234"),
        (("node_list", 1, "node_addr"), "", "HK234"),
        (("node_list", 1, "node_addr"), "fd00::1", "HK310"),
        (("node_list", 1, "node_addr"), "0.0.0.0", "HK234"),
        ((*RANK, "rank_ip"), "fd00::1", "HK309"),
        ((*RANK, "rank_ip"), "0.0.0.0", None),
        ((*RANK, "port"), "", "HK308"),
        ((*RANK, "port"), "EID", "HK308"),
        ((*RANK, "port"), "65536", "HK308"),
        ((*RANK, "port"), "0", None),
        (("mode",), "tcp", None),
        (("mode",), "ib", "HK238"),
        (("collective_id",), "c" * 128, "HK238"),
        ((*RANK, "rank_ip"), " 10.0.0.1", "HK234"),
        ((*RANK, "rank_ip"), "", None),
        ((*RANK, "rank_ip"), "192.168.0.1", None),
        ((*RANK, "rank_id"), "0", "HK201"),
        ((*RANK, "rank_id"), "3", "HK202"),
        ((*RANK, "device_id"), "99", None),
        (("node_list", 1, "ranks"), [], "HK208"),
        (("node_list",), [], "HK208"),
        (("status",), "complete", "HK110"),
    ):
        document = changed(nodes(), put(*pointer, value))
        if pointer == ("node_list", 1, "ranks"):
            document["node_list"][0]["ranks"][0]["rank_id"] = "0"
        assert findings(document) == ([(rule, pointer)] if rule else []), (pointer, value)


def test_a_heterog_sub_version_requires_the_keys_of_atlas_a3() -> None:
    document = nodes() | {"heterog_sub_version": "1.2"}
    for node in document["node_list"]:
        for rank in node["ranks"]:
            rank |= {"device_id": "-1", "port": "1", "rank_ip": "", "sdid": "-1", "bind_device_id": "0"}
    assert findings(document) == []
    rank = document["node_list"][1]["ranks"][0]
    for key in ("device_id", "port", "rank_ip", "sdid", "bind_device_id"):
        value = rank.pop(key)
        report = check_text(json.dumps(document), "t.json")
        assert [(found.rule, found.hccl_error) for found in report.findings[1:]] == [("HK238", "EI0017")], key
        rank[key] = value
    rank["sdid"] = "x"
    assert findings(document) == [("HK238", (*RANK, "sdid"))]


def test_the_code_is_that_of_the_parser_of_version_1_1() -> None:
    for pointer, value, code in (
        (("node_list", 1, "node_addr"), "0.0.0.0", None),
        (("node_list", 1, "node_addr"), "fd00::1", "EI0014"),
        ((*RANK, "rank_ip"), "fd00::1", "EI0001"),
        ((*RANK, "rank_id"), "x", None),
        ((*RANK, "port"), "", None),
    ):
        report = check_text(json.dumps(changed(nodes(), put(*pointer, value))), "t.json")
        assert (report.ok, report.hccl_error) == (False, code), (pointer, value)


def test_products_that_read_version_1_0_also_read_version_1_1() -> None:
    for product in PRODUCTS:
        rules = [found.rule for found in check_text(json.dumps(nodes()), "t.json", product).findings]
        assert rules == (["HK236"] if "1.0" in product.table_versions else ["HK108"])
