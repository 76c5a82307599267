"""Addresses that no network has: those of simulated cards, in every kind of table."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.check.engine import check_text
from hccl_kit.check.selection import narrowed
from hccl_kit.discovery import simulate
from tests.tables import pods_value, ranks_value, value


def found(document: Any) -> list[tuple[str, str]]:
    """The rule and the severity of what is found with --strict, but no notes."""
    report = narrowed(check_text(json.dumps(document), "t.json"), strict=True)
    return [(one.rule, one.severity) for one in report.findings if one.severity != "note"]


NODES = json.loads((Path(__file__).parent / "HK234" / "ok.json").read_text(encoding="utf-8"))
"""A table of version 1.1."""
STRICT = [("HK322", "error")]


def with_address(text: str) -> Any:
    document = value(1, 8)
    for number, device in enumerate(document["server_list"][0]["device"]):
        device["device_ip"] = text if number == 0 else f"fd00::{number}" if ":" in text else device["device_ip"]
    return document


def test_a_card_with_an_address_of_no_network_is_an_error_with_strict() -> None:
    for text, expected in (
        *((text, STRICT) for text in ("192.0.2.1", "198.51.100.7", "203.0.113.9", "198.18.0.1", "198.19.255.254")),
        *((text, STRICT) for text in ("2001:db8::1", "2001:0DB8:0:0::7", "3fff::1", "3FFF:fff::1")),
        *((text, []) for text in ("192.0.20.1", "198.17.0.1", "198.20.0.1", "203.0.11.3", "19.0.2.1", "192.168.0.2")),
        *((text, []) for text in ("2001:db9::1", "2001::db8", "3fff:1000::1", "fd00::2001:db8")),
    ):
        assert found(with_address(text)) == expected, (text, expected)


def addresses_of(document: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """The objects with an address of a card, and its key."""
    servers = document.get("server_list", [])
    nodes = document.get("node_list", [])
    ranks = [level for rank in document.get("rank_list", []) for level in rank["level_list"]]
    return [
        *((device, "device_ip") for server in servers for device in server["device"]),
        *((rank, "rank_ip") for node in nodes for rank in node["ranks"]),
        *((one, "addr") for level in ranks for one in level["rank_addr_list"]),
    ]


@pytest.mark.parametrize("make", [lambda: value(2, 8), pods_value, lambda: NODES, ranks_value])
def test_every_kind_of_table_is_searched(make: Callable[[], dict[str, Any]]) -> None:
    document = make()
    assert found(document) == []
    for number, (holder, key) in enumerate(addresses_of(document), start=1):
        holder[key] = f"198.18.{number >> 8}.{number & 255}"
        if key == "addr":
            holder["addr_type"] = "IPV4"
    assert found(document) == STRICT


@pytest.mark.parametrize("planes", [1, 4])
def test_all_simulated_addresses_are_recognised_but_not_a_table_for_this_server_only(planes: int) -> None:
    document = value(1, 8)
    for device, ip in zip(
        document["server_list"][0]["device"], simulate.addresses(range(8), planes=planes).values(), strict=True
    ):
        device["device_ip"] = ip
    report = check_text(json.dumps(document), "t.json")
    (one,) = report.findings
    assert one.message == 'address "192.0.2.1" is in 192.0.2.0/24 (RFC 5737), a range that no network has; ' + (
        "8 addresses of the table are in such ranges"
    )
    document["server_list"][0]["server_id"] = "127.0.0.1"
    assert found(document) == []
