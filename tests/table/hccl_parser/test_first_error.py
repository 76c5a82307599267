"""The first error of HCCL's parser: the codes of single errors, and the first one of two errors."""

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.check.rules import RULE_BY_ID
from hccl_kit.table.formats import write
from hccl_kit.table.hccl_parser.first_error import first_error
from hccl_kit.table.hccl_parser.reading import number
from hccl_kit.table.products import ANY_PRODUCT, PRODUCTS, Product, any_product, find_product
from tests.changes import changed, cut, put
from tests.check.rules.test_golden import FOLDERS, product_of
from tests.groups import nodes
from tests.tables import json_values, pods_value, tables, value

READERS = [product for product in PRODUCTS if "1.0" in product.table_versions]
NONE, MISSING, INVALID = "", "EI0017", "EI0014"


def code_of(table: Any, product: str = "a2") -> str:
    """The code of a table that HCCL refuses."""
    code = first_error(table, find_product(product))
    return "accepted" if code is None else code


SERVER, OTHER = ("server_list", 0), ("server_list", 1)
DEVICE = (*OTHER, "device", 1)


@given(st.integers(1, 4), st.sampled_from([1, 2, 4, 8]), st.sampled_from(READERS))
def test_a_valid_table_is_accepted(servers: int, cards: int, product: Product) -> None:
    assert first_error(value(servers, cards), product) is None


def test_valid_super_pods_and_nodes_are_accepted() -> None:
    assert first_error(pods_value(2), find_product("a3")) is None
    assert first_error(nodes(), find_product("910")) is None


@given(json_values | tables.map(write).map(json.loads), st.sampled_from(READERS))
def test_any_document_can_be_parsed(document: Any, product: Product) -> None:
    first_error(document, product)


def test_a_single_error_has_its_code() -> None:
    for change, code in (
        (cut("status"), MISSING),
        (put("version", 1.0), MISSING),
        (put("version", "1"), INVALID),
        (cut("server_list"), NONE),
        (put("server_list", []), NONE),
        (put("server_list", None), NONE),
        (put("server_list", "10.0.0.1"), INVALID),  # a list of one for HCCL, but server_count is two
        (put("server_list", {"a": 1, "b": 2}), NONE),
        (put("server_count", 2), MISSING),
        (put("server_count", "two"), NONE),
        (put("server_count", "3"), INVALID),
        (cut(*OTHER, "server_id"), MISSING),
        (put(*OTHER, "server_id", ""), NONE),
        (put(*OTHER, "server_id", "n" * 65), NONE),
        (put(*OTHER, "server_id", "10.0.0.1"), INVALID),
        (put(*OTHER, "host_ip", ""), INVALID),
        (cut(*OTHER, "device"), NONE),
        (put(*OTHER, "device", []), NONE),
        (put(*OTHER, "device", {"a": 1}), NONE),
        (put(*OTHER, []), MISSING),
        (cut(*DEVICE, "rank_id"), MISSING),
        (put(*DEVICE, "rank_id", 1), MISSING),
        (put(*DEVICE, "rank_id", "x"), INVALID),
        (put(*DEVICE, "rank_id", "0"), INVALID),
        (put(*DEVICE, "rank_id", "9"), INVALID),
        (put(*DEVICE, "device_id", "x"), NONE),
        (put(*DEVICE, "device_id", "16"), NONE),
        (put(*DEVICE, "device_id", "0"), INVALID),
        (put(*DEVICE, "device_ip", "10.1.1"), INVALID),
        (put(*DEVICE, "device_ip", "0.0.0.0"), INVALID),
        (put(*DEVICE, "device_ip", "192.168.100.2"), INVALID),
        (put(*DEVICE, "device_ip", "192.168.9.1,192.168.9.2"), NONE),
        (put(*DEVICE, "device_ip", "fd00::1"), "EI0001"),
        (cut(*DEVICE, "device_ip"), INVALID),
        (put(*DEVICE, "device_port", "0"), NONE),
        (put(*DEVICE, "host_port", 1), MISSING),
        (put(*DEVICE, "net_protocol", 1), MISSING),
        (put(*DEVICE, "net_position", "host"), NONE),
    ):
        assert code_of(changed(value(2, 4), change)) == code, (change, code)


def test_a_number_ends_where_its_digits_end() -> None:
    for text in (
        "3x",
        " 3",
        "+3",
        "03",
        "3.7",
        "\t3",
    ):
        assert number(text) == 3, text
        assert (
            first_error(changed(value(1, 4), put(*SERVER, "device", 3, "rank_id", text)), find_product("a2")) is None
        ), text


def test_text_that_does_not_begin_with_a_number_of_32_bits_is_not_a_number() -> None:
    for text in (
        "",
        "x",
        "-1",
        "4294967296",
        "9" * 5000,
        "\uff13",
        "+-1",
    ):
        assert number(text) is None, text


def test_values_that_hccl_ignores_are_accepted() -> None:
    for change in (
        put("server_list", 0, "device", 0, "device_vnic_port", "x"),  # only read with a device_port
        put("server_list", 0, "device", 0, "backup_device_ip", 5),
        put("server_list", 0, "host_nic_ip", None),
        put("server_list", 0, "host_ip", "0.0.0.0"),
        put("server_list", 0, "device", 0, "device_ip", "::"),
    ):
        assert first_error(changed(value(1, 4), change), find_product("a2")) is None, change


def test_of_two_errors_the_first_has_its_code() -> None:
    for changes, code in (
        # Server by server, so the later server's missing key comes after the duplicate address of the first ...
        ((put(*SERVER, "device", 1, "device_ip", "192.168.100.1"), cut(*DEVICE, "rank_id")), INVALID),
        # ... and inside a device the keys have an order: device_id before the ports, rank_id last.
        ((put(*DEVICE, "rank_id", "x"), put(*DEVICE, "device_port", "0")), NONE),
        ((put(*DEVICE, "device_id", "99"), put(*DEVICE, "device_ip", "x")), NONE),
        ((put(*DEVICE, "device_id", 1), put(*DEVICE, "device_ip", "x")), MISSING),
        # Checks over all servers come after all are read.
        ((put(*DEVICE, "rank_id", "0"), put(*DEVICE, "device_port", "x")), NONE),
        ((put(*DEVICE, "device_ip", "fd00::1"), put(*DEVICE, "rank_id", "0")), INVALID),
        ((put("server_list", []), put("version", "1")), INVALID),
    ):
        assert code_of(changed(value(2, 4), *changes)) == code, (changes, code)


POD = ("super_pod_list", 0)


def test_a_single_error_of_super_pods_has_its_code() -> None:
    for change, code in (
        (put("super_pod_list", []), NONE),
        (put("super_pod_list", "0"), INVALID),
        (cut(*POD, "super_pod_id"), INVALID),
        (put(*POD, "super_pod_id", 0), MISSING),
        (put(*POD, "super_pod_id", ""), INVALID),
        (put(*POD, "super_pod_id", "1"), INVALID),
        (put(*POD, "super_pod_id", "p" * 128), NONE),
        (put(*POD, "server_list", []), NONE),
        (cut(*POD, "server_list"), NONE),
        (put(*POD, "server_list", 0, "server_id", "x"), INVALID),
        (put(*POD, "server_list", 0, "server_id", 1), MISSING),
        (cut(*POD, "server_list", 0), NONE),
        (cut(*SERVER, "device", 0, "super_device_id"), NONE),
        (put(*SERVER, "device", 0, "super_device_id", "x"), INVALID),
        (put(*SERVER, "device", 0, "super_device_id", 1), MISSING),
        (put(*SERVER, "device", 0, "super_device_id", "65537"), NONE),
        (put(*SERVER, "device", 0, "super_device_id", "4294967295"), NONE),
    ):
        assert code_of(changed(pods_value(2), change), "a3") == code, (change, code)


NODE = ("node_list", 1)
RANK = (*NODE, "ranks", 0)


def test_a_single_error_of_nodes_has_its_code() -> None:
    for change, code in (
        (cut("collective_id"), MISSING),
        (put("collective_id", "c" * 128), NONE),
        (put("heterog_sub_version", "1.3"), NONE),
        (put("mode", "ib"), NONE),
        (cut("node_list"), NONE),
        (cut(*NODE, "node_addr"), MISSING),
        (put(*NODE, "node_addr", "node1"), INVALID),
        (put(*NODE, "node_addr", "fd00::1"), INVALID),
        (put(*NODE, "node_addr", "0.0.0.0"), NONE),
        (put(*NODE, "ranks", []), NONE),
        (cut(*RANK, "rank_id"), MISSING),
        (put(*RANK, "rank_id", "x"), NONE),
        (put(*RANK, "rank_id", "9"), INVALID),
        (put("node_list", 0, "ranks", 0, "rank_id", "9"), NONE),  # the process of rank 9 has no entry
        (put(*RANK, "device_id", "x"), NONE),
        (put(*RANK, "port", ""), NONE),
        (put(*RANK, "port", 16000), MISSING),
        (put(*RANK, "rank_ip", "x"), INVALID),
        (put(*RANK, "rank_ip", "fd00::1"), "EI0001"),
    ):
        assert code_of(changed(nodes(), change), "910") == code, (change, code)


STRICTER = {"HK004", "HK007", "HK009", "HK209", "HK215", "HK303"}
"""Rules that refuse what HCCL accepts; their pages explain why."""
OF_TEXT = {"HK001", "HK002", "HK005", "HK006"}


def test_every_rule_refuses_what_hccl_refuses() -> None:
    """The bad and the good table of every rule: the model of the parser and the rules agree."""
    for folder in FOLDERS:
        if folder.name in OF_TEXT | STRICTER:
            continue
        for path in folder.glob("*.json*"):
            report = check_text(path.read_bytes(), path.name, product_of(folder))
            check = any_product() if report.product == ANY_PRODUCT else find_product(report.product)
            document = json.loads(path.read_text(encoding="utf-8-sig"))
            is_ready = all(found.rule != "HK109" for found in report.findings)
            assert (first_error(document, check) is None) == (report.ok and is_ready), path


def test_the_page_of_every_rule_names_the_code_of_its_bad_table() -> None:
    """The reaction of HCCL to the bad table is under "HCCL:", with the code of the rule if it differs."""
    for folder in FOLDERS:
        rule = RULE_BY_ID[folder.name]
        path = next(folder.glob("bad.json*"))
        report = check_text(path.read_bytes(), path.name, product_of(folder))
        if report.ok or folder.name in OF_TEXT | {"HK004"}:  # warnings, and documents that are not read as a table
            continue
        check = any_product() if report.product == ANY_PRODUCT else find_product(report.product)
        code = first_error(json.loads(path.read_text(encoding="utf-8-sig")), check)
        page = rule.page.partition("HCCL:")[2]
        codes = {*re.findall("EI[0-9]{4}", page)} | ({NONE} if re.search("no code|without code", page) else set())
        assert (re.search("accepts|does not", page)) if code is None else code in codes, folder
        assert (rule.hccl_error or NONE) in codes or code is None, folder


def test_the_only_error_has_the_code_of_the_table() -> None:
    table = changed(value(2, 4), put("server_list", "10.0.0.1"))
    report = check_text(json.dumps(table), "t.json")
    assert [(found.rule, found.hccl_error) for found in report.findings] == [("HK102", "EI0014")]
    assert report.hccl_error == "EI0014"


def test_of_several_errors_the_table_has_the_code_that_comes_first() -> None:
    table = changed(value(2, 4), put(*DEVICE, "rank_id", "0"), put(*DEVICE, "device_port", "0"))
    report = check_text(json.dumps(table), "t.json")
    assert {found.rule: found.hccl_error for found in report.findings} == {"HK201": "EI0014", "HK308": None}
    assert report.hccl_error is None


def test_a_list_error_has_no_code_even_with_other_errors() -> None:
    table = changed(value(2, 4), cut(*SERVER, "device"), put(*DEVICE, "rank_id", 5), put(*DEVICE, "device_id", []))
    found = {one.pointer: one.hccl_error for one in check_text(json.dumps(table), "t.json").findings}
    assert found == {SERVER: None, (*DEVICE, "rank_id"): "EI0017", (*DEVICE, "device_id"): "EI0017"}
