"""Which ports a job uses: those of all cards, of some cards, or of the hosts."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from hccl_kit.check.engine import check_text
from hccl_kit.table.products import PRODUCTS, find_product
from tests.tables import pods_value, value

P910 = find_product("910")
READERS = [product.name for product in PRODUCTS if "1.0" in product.table_versions]


def found(table: Any, product: str | None) -> list[str]:
    report = check_text(json.dumps(table), "t.json", find_product(product) if product else None)
    return [f"{found.rule} {found.severity}" for found in report.findings]


def with_ports(*servers: Sequence[int], cards: int = 8) -> Any:
    """Servers of eight cards with addresses on these."""
    table = value(len(servers), cards)
    for server, ports in zip(table["server_list"], servers, strict=True):
        for card, device in enumerate(server["device"]):
            if card not in ports:
                device["device_ip"] = ""
    return table


ALL, LOW, HIGH = range(8), range(4), range(4, 8)


def test_on_910_all_servers_must_use_the_same_subset_of_eight_ports() -> None:
    for table, expected in (
        (with_ports(ALL, ALL), []),
        (with_ports(LOW, LOW), []),
        (with_ports([0], [0], [0]), []),
        (with_ports([0, 4], [0, 4]), []),
        (with_ports(LOW, HIGH), ["HK405 error"]),
        (with_ports(LOW, LOW, HIGH, [0]), ["HK405 error"] * 2),
        (with_ports(ALL, LOW, LOW), ["HK405 error"]),
        (with_ports(LOW, LOW, []), ["HK405 error"]),
        (with_ports([], []), ["HK405 error"]),
        (with_ports([0, 1, 2], [0, 1, 2]), ["HK405 error"]),
        (with_ports([0, 1, 2], [0, 1, 2], [0, 1, 2]), []),  # HCCL checks the sum: 24 cards are a multiple of 3
        (with_ports([0, 1, 2]), []),
        (with_ports([0], [0], cards=4), ["HK306 warning"] * 2),
    ):
        assert found(table, "910") == expected, (table, expected)


def test_on_other_products_hccl_compares_the_ports_of_eight_cards_too() -> None:
    different: list[list[Sequence[int]]] = [[LOW, HIGH], [ALL, LOW, LOW], [[], []]]
    for ports in different:
        for product in ("a3", "300i-duo", None):
            assert "HK405 error" in found(with_ports(*ports), product), (product, ports)
            report = check_text(json.dumps(with_ports(*ports)), "t.json", find_product(product) if product else None)
            assert report.hccl_error is None, (product, ports)


def test_a3_needs_addresses_only_for_eight_cards_on_several_servers() -> None:
    for cards, expected in ((4, ["HK305 warning"] * 2), (8, ["HK305 warning", "HK405 error"] * 2)):
        table = with_ports([], [], cards=cards)
        for server in table["server_list"]:
            for device in server["device"]:
                del device["device_ip"]
        assert sorted(found(table, "a3")) == sorted(expected[: 3 if cards == 8 else 2])


@pytest.mark.parametrize(("pods", "expected"), [(1, []), (2, ["HK405 error"])])
def test_one_super_pod_needs_no_addresses(pods: int, expected: list[str]) -> None:
    table = pods_value(pods, 2 // pods, 8)
    for server in table["server_list"]:
        for device in server["device"]:
            device["device_ip"] = ""
    assert [one for one in found(table, "a3") if one.startswith("HK405")] == expected


def test_a_server_with_a_host_address_counts_as_having_all_ports() -> None:
    table = with_ports(ALL, LOW)
    assert found(table, "910") == ["HK405 error"]
    table["server_list"][1]["host_ip"] = "10.0.0.2"
    assert found(table, "910") == []
    table["server_list"][1]["host_ip"] = "0.0.0.0"
    assert found(table, "910") == ["HK405 error"]


@pytest.mark.parametrize(
    ("name", "servers", "cards", "expected"),
    [
        ("10.0.0.2 ", 2, 8, ["HK410 error"]),
        (" 10.0.0.2", 2, 8, ["HK410 error"]),
        ("10.0.0.2\t", 2, 8, ["HK237 warning"]),  # HCCL strips spaces only
        ("  ", 2, 8, ["HK237 warning"]),  # but not a name that has nothing else
        ("10.0.0.2 ", 2, 4, []),
        ("10.0.0.2 ", 1, 8, []),
    ],
)
def test_an_id_with_spaces_does_not_match_its_stripped_form(
    name: str, servers: int, cards: int, expected: list[str]
) -> None:
    table = value(servers, cards)
    table["server_list"][-1]["server_id"] = name
    for product in ("a2", "a3", "910", "300i-duo"):
        assert found(table, product) == expected


@pytest.mark.parametrize(("product", "severity"), [("a2", "error"), ("a3", "warning"), ("300i-duo", "warning")])
def test_on_other_products_every_card_needs_an_address(product: str, severity: str) -> None:
    assert found(with_ports(LOW, LOW), product) == [f"HK306 {severity}"] * 2


def test_an_absent_address_key_is_reported_as_missing() -> None:
    table = with_ports(LOW, HIGH)
    del table["server_list"][1]["device"][0]["device_ip"]
    assert found(table, "910") == ["HK305 error"]


def on_hosts(*servers: str, cards: int = 2) -> Any:
    """Servers with a host address ("h"), addresses of cards ("d"), both or none."""
    table = value(len(servers), cards)
    for server, keys in zip(table["server_list"], servers, strict=True):
        if "h" in keys:
            server["host_ip"] = server["server_id"]
        if "d" not in keys:
            for device in server["device"]:
                del device["device_ip"]
    return table


def test_a_job_over_host_ports_needs_every_host_address() -> None:
    for servers, expected in (
        (("h", "h"), []),
        (("h", "hd"), []),
        (("hd", "hd"), []),
        (("hd", "d"), []),
        (("d", "h"), []),
        (("h", "d"), ["HK320 error"]),
        (("h", "d", "h", "d"), ["HK320 error"] * 2),
        (("h", ""), ["HK305 error"]),
        (("h",), []),
        (("",), []),
    ):
        for product in (None, "910", "300i-duo"):
            assert found(on_hosts(*servers), product) == expected, (product, servers)


def test_the_parser_of_a3_requires_host_addresses_only() -> None:
    assert found(on_hosts("h", "d"), "a3") == ["HK320 error"]
    assert "HK320 error" in found(on_hosts("h", ""), "a3")


@pytest.mark.parametrize("product", ["a2", "a2-box16"])
def test_on_a2_a_host_address_does_not_replace_those_of_the_cards(product: str) -> None:
    assert found(on_hosts("h", "h"), product) == ["HK305 error"] * 2


def test_rank_0_decides_whether_host_ports_are_used() -> None:
    for product in READERS:
        table = on_hosts("hd", "d")
        table["server_list"][0]["device"][0]["device_ip"] = ""
        assert "HK320 error" in found(table, product), product
        first, second = table["server_list"][0]["device"]
        first["rank_id"], second["rank_id"] = second["rank_id"], first["rank_id"]
        assert "HK320 error" not in found(table, product), product


def test_net_position_host_requires_a_host_address() -> None:
    table = value(1, 2)
    table["server_list"][0]["device"][1]["net_position"] = "host"
    assert found(table, None) == ["HK320 error"]
    for device in table["server_list"][0]["device"]:
        del device["device_ip"]
    assert found(table, None) == ["HK320 error"]
    table["server_list"][0]["host_ip"] = "10.0.0.1"
    assert found(table, None) == []
    table["server_list"][0]["device"][1]["net_position"] = "device"
    del table["server_list"][0]["host_ip"]
    assert found(table, None) == []


def test_card_ports_are_not_compared_if_host_ports_are_used() -> None:
    table = with_ports(LOW, HIGH)
    for server in table["server_list"]:
        server["host_ip"] = server["server_id"]
    table["server_list"][0]["device"][0]["device_ip"] = ""
    assert "HK405 error" not in found(table, P910.name)


def test_a_port_is_checked_only_if_hccl_reads_it() -> None:
    for keys, product, expected in (
        ({"device_port": "16666"}, "a2", []),
        ({"device_port": "0"}, "a2", ["HK308"]),
        ({"device_port": "65536"}, "a2", ["HK308"]),
        ({"device_port": "1.2"}, "a2", ["HK308"]),
        ({"host_port": ""}, "a2", ["HK308"]),
        ({"device_vnic_port": "x"}, "a2", []),  # not read without device_port
        ({"device_vnic_port": "x", "device_port": "1"}, "a2", ["HK308"]),
        ({"backup_device_port": "x"}, "a3", []),
        ({"backup_device_port": "x", "backup_device_ip": "192.168.101.1"}, "a3", ["HK308"]),
        ({"backup_device_port": "x", "backup_device_ip": "192.168.101.1"}, "a2", []),
    ):
        table: Any = value(1, 2)
        table["server_list"][0]["device"][0] |= keys
        report = check_text(json.dumps(table), "t.json", find_product(product))
        assert [found.rule for found in report.findings] == expected, (keys, product)


@pytest.mark.parametrize("port", ["1.2", "+5", "3x"])
def test_a_port_that_hccl_parses_as_another_number_has_no_code(port: str) -> None:
    table: Any = value(1, 2)
    table["server_list"][0]["device"][0]["device_port"] = port
    (found,) = check_text(json.dumps(table), "t.json").findings
    assert (found.rule, found.hccl_error) == ("HK308", None)
