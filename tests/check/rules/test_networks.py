"""Segments of the planes, checked only with a netmask; and addresses that no network has, in every kind of table."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.check.selection import narrowed
from hccl_kit.discovery import job_servers
from hccl_kit.table.finding import Finding
from hccl_kit.table.formats import write
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.products import PRODUCTS, find_product
from tests.tables import pods_value, ranks_value, value

READERS = [product.name for product in PRODUCTS if "1.0" in product.table_versions]


def found(*servers: Sequence[str], product: str = "910", prefix: int | None = 24) -> tuple[Finding, ...]:
    """The findings about servers whose cards have these addresses, from card 0 on."""
    made = tuple(
        Server(f"10.0.0.{s + 1}", tuple(Device(c, ip, s * len(ips) + c) for c, ip in enumerate(ips)))
        for s, ips in enumerate(servers)
    )
    judge = find_product(product)._replace(prefix=prefix)
    return check_text(write(RankTable("1.0", "completed", made)), "t.json", judge).findings


def server(number: int, *segments: int) -> list[str]:
    return [f"192.168.{segment}.{number * 10 + card}" for card, segment in enumerate(segments)]


GOOD = (server(1, 0, 1, 2, 3, 0, 1, 2, 3), server(2, 0, 1, 2, 3, 0, 1, 2, 3))


def test_planes_of_910_in_four_segments_have_no_finding() -> None:
    assert found(*GOOD) == ()


@pytest.mark.parametrize("product", READERS)
def test_segments_are_not_checked_without_netmask(product: str) -> None:
    assert found(server(1, *range(8)), server(2, *range(8, 16)), product=product, prefix=None) == ()


@pytest.mark.parametrize(
    ("servers", "messages"),
    [
        (
            (server(1, 0, 1, 2, 3, 0, 1, 2, 3), server(2, 0, 1, 2, 3, 9, 1, 2, 3)),
            ['"192.168.9.24" is in 192.168.9.0/24; plane 0 has 2 segments, most ports are in 192.168.0.0/24'],
        ),
        (
            (server(1, 0, 1, 2, 3, 0, 1, 2, 3), server(2, 0, 1, 2, 3, 1, 1, 2, 3)),
            ['"192.168.1.24" is in 192.168.1.0/24; plane 0 has 2 segments, most ports are in 192.168.0.0/24'],
        ),
        (
            (server(1, 0, 1, 2, 0, 0, 1, 2, 0), server(2, 0, 1, 2, 0, 0, 1, 2, 0)),
            ['"192.168.0.13" of plane 3 is in 192.168.0.0/24, the segment of plane 0'],
        ),
        (
            (server(1, *[0] * 8), server(2, *[0] * 8)),
            [f'"192.168.0.1{n}" of plane {n} is in 192.168.0.0/24, the segment of plane 0' for n in (1, 2, 3)],
        ),
    ],
)
def test_findings_on_910(servers: Sequence[Sequence[str]], messages: list[str]) -> None:
    diagnostics = found(*servers)
    assert [one.message for one in diagnostics] == messages
    assert {(one.rule, one.severity) for one in diagnostics} == {("HK319", "warning")}


@pytest.mark.parametrize("product", [name for name in READERS if name != "910"])
def test_on_other_products_several_segments_are_a_note(product: str) -> None:
    assert found(*(server(n, *[0] * 4) for n in (1, 2)), product=product) == ()
    (one,) = found(server(1, *[1] * 4), server(2, *[2] * 4), product=product)
    assert (one.rule, one.severity) == ("HK319", "note")
    assert "the network has 2 segments" in one.message


def test_ipv6_and_prefixes_that_are_not_whole_bytes() -> None:
    assert found(["fd00:1::1", "fd00:2::1", "fd00:3::1", "fd00:4::1"], prefix=32) == ()
    (one,) = found(["fd00:1::1", "fd00:2::1", "fd00:1::2", "fd00:4::1"], prefix=32)
    assert one.message == '"fd00:1::2" of plane 2 is in fd00:1::/32, the segment of plane 0'
    (one,) = found(["10.0.0.1", "10.0.0.33", "10.0.0.65", "10.0.0.31"], prefix=27)
    assert one.message == '"10.0.0.31" of plane 3 is in 10.0.0.0/27, the segment of plane 0'
    assert found(["10.0.0.1", "10.0.0.33", "10.0.0.65", "10.0.0.31"], prefix=64) == ()


@given(st.lists(st.integers(0, 3), min_size=8, max_size=8), st.integers(0, 32))
def test_never_more_than_two_findings_for_a_plane(segments: list[int], prefix: int) -> None:
    diagnostics = found(server(1, *segments), server(2, *segments), prefix=prefix)
    assert len(diagnostics) <= 7
    assert all(one.rule == "HK319" and one.severity == "warning" for one in diagnostics)


def test_addresses_that_are_not_valid_are_left_to_their_own_rule() -> None:
    assert [one.rule for one in found(["10.0.0.1", "", "-1", "10.0.3.1"])] == ["HK301"]


def found_in(document: Any) -> list[tuple[str, str]]:
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
        assert found_in(with_address(text)) == expected, (text, expected)


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
    assert found_in(document) == []
    for number, (holder, key) in enumerate(addresses_of(document), start=1):
        holder[key] = f"198.18.{number >> 8}.{number & 255}"
        if key == "addr":
            holder["addr_type"] = "IPV4"
    assert found_in(document) == STRICT


@pytest.mark.parametrize("planes", [1, 4])
def test_all_simulated_addresses_are_recognised_but_not_a_table_for_this_server_only(planes: int) -> None:
    document = value(1, 8)
    for device, ip in zip(
        document["server_list"][0]["device"], job_servers.simulated(range(8), planes=planes).values(), strict=True
    ):
        device["device_ip"] = ip
    report = check_text(json.dumps(document), "t.json")
    (one,) = report.findings
    assert one.message == 'address "192.0.2.1" is in 192.0.2.0/24 (RFC 5737), a range that no network has; ' + (
        "8 addresses of the table are in such ranges"
    )
    document["server_list"][0]["server_id"] = "127.0.0.1"
    assert found_in(document) == []
