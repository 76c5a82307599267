"""Conversion: common data is kept, data that the other version cannot represent is named, and the result is valid."""

import itertools
import json
from typing import Any

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.check.engine import check_text
from hccl_kit.table.formats import READERS, write
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.convert import MAX_KEYS, TARGETS, convert
from tests.groups import cloud, lab, nodes
from tests.tables import pods_value, ranks_value, value

DOCUMENTS: dict[str, Any] = {
    "1.0": value(2, 4),
    "1.2": pods_value(2, 2, 2),
    "2.0": ranks_value(4, 2),
    "template2": cloud(2, 2, 2),
    "lab": lab(),
}
SOURCES: dict[str, RankTable] = {
    name: READERS[document.get("version", "")](document) for name, document in DOCUMENTS.items()
}
PAIRS = [(source, to) for source, to in itertools.product(SOURCES, TARGETS) if SOURCES[source].version != TARGETS[to]]


def cards(table: RankTable) -> set[tuple[str, int]]:
    return {(server.id, device.id) for server, device in table.devices()}


def addresses(table: RankTable) -> set[tuple[str, int, str | None]]:
    """The RoCE address of every card; in version 2.0, that in the outermost network."""
    return {
        (server.id, device.id, device.levels[-1].addresses[0].text if device.levels else device.ip)
        for server, device in table.devices()
    }


def test_servers_cards_and_addresses_are_kept_and_the_table_is_valid() -> None:
    for source, to in PAIRS:
        table = SOURCES[source]
        converted, _ = convert(table, to)
        assert converted.version == TARGETS[to], (source, to)
        assert cards(converted) == cards(table), (source, to)
        assert addresses(converted) == addresses(table), (source, to)
        report = check_text(write(converted), "t.json")
        assert report.ok, (source, to)
        assert report.table is not None, (source, to)
        assert cards(report.table) == cards(table), (source, to)
        if to != "template2":  # parsed again, it has groups
            assert report.table == converted, (source, to)


def test_ranks_are_kept() -> None:
    for source, to in [pair for pair in PAIRS if "template2" not in pair]:
        table = SOURCES[source]
        ranks = [(server.id, device.id) for server, device in table.by_rank()]
        assert [(server.id, device.id) for server, device in convert(table, to)[0].by_rank()] == ranks, (source, to)


@pytest.mark.parametrize("name", TARGETS)
def test_a_table_that_already_has_the_version_is_refused(name: str) -> None:
    with pytest.raises(KitError, match="already"):
        convert(SOURCES[name], name)


def test_version_1_1_is_refused() -> None:
    with pytest.raises(KitError, match=r"1\.1"):
        convert(READERS["1.1"](nodes()), "1.0")


def test_exactly_the_lost_and_missing_data_is_named() -> None:
    for source, to, words in (
        ("1.0", "1.2", ['"super_pod_list" is missing, and "super_device_id" with it']),
        ("1.2", "1.0", ["the super pods (2) are left out", "super_device_id of the devices is left out"]),
        (
            "1.0",
            "2.0",
            ['keys of the servers are left out: "host_nic_ip"', "addresses of layer 0 are missing", "local_id"],
        ),
        ("1.0", "template2", ['"host_nic_ip"']),
        ("2.0", "1.0", ["only version 2.0 has them", "become servers"]),
        ("2.0", "template2", ["only version 2.0 has them", "become servers", "2 of 4 ranks change"]),
        ("template2", "1.0", ["the 2 groups become one", "names of the pods"]),
        ("lab", "1.0", ['"board_id", "chip_info", "deploy_mode"']),
    ):
        _, lost = convert(SOURCES[source], to)
        assert len(lost) == len(words), (source, to)
        assert all(word in line for word, line in zip(words, lost, strict=True)), (source, to)


@pytest.mark.parametrize("whose", ["table", "servers", "devices"])
@pytest.mark.parametrize("to", ["2.0", "template2"])
def test_unknown_keys_are_kept_or_named(whose: str, to: str) -> None:
    document = value(2, 2)
    server = document["server_list"][0]
    {"table": document, "servers": server, "devices": server["device"][0]}[whose]["note"] = "x"
    table = READERS["1.0"](document)
    assert any(f"keys of the {whose} are left out" in line and '"note"' in line for line in convert(table, to)[1])
    kept, _ = convert(table, "1.2")
    assert write(kept).count('"note": "x"') == 1


@pytest.mark.parametrize(
    ("whose", "document", "pointer"),
    [
        ("table", ranks_value(), ()),
        ("devices", ranks_value(), ("rank_list", 0)),
        ("table", cloud(), ()),
        ("groups", cloud(), ("group_list", 0)),
        ("instances", cloud(), ("group_list", 0, "instance_list", 0)),
    ],
)
def test_unknown_keys_of_other_versions_are_named_too(whose: str, document: Any, pointer: tuple[Any, ...]) -> None:
    holder = document
    for part in pointer:
        holder = holder[part]
    holder["note"] = "x"
    _, lost = convert(READERS[document.get("version", "")](document), "1.0")
    assert f'keys of the {whose} are left out: "note"' in lost


def test_the_number_of_named_keys_is_limited() -> None:
    document = value(1, 1) | {f"x{number:02}": "" for number in range(MAX_KEYS + 3)}
    (line, *_) = convert(READERS["1.0"](document), "2.0")[1]
    assert line.endswith('"x09" and 3 more')


def test_ports_are_converted_to_numbers_and_back_to_strings() -> None:
    document = value(1, 2)
    document["server_list"][0]["device"][1]["device_port"] = "16700"
    there, lost = convert(READERS["1.0"](document), "2.0")
    assert there.every[1].extra == {"device_port": 16700}
    back, lost_again = convert(there, "1.0")
    assert back.every[1].extra == {"device_port": "16700"}
    assert not any("keys of the devices" in line for line in (*lost, *lost_again))


def test_a_table_of_version_2_may_have_no_status() -> None:
    document = ranks_value()
    del document["status"]
    assert convert(READERS["2.0"](document), "1.0")[0].status == "completed"


@pytest.mark.parametrize("ip", ["192.168.1.1", "fd00::1", "192.168.1.1,192.168.1.2", None])
def test_addresses_round_trip_through_version_2(ip: str | None) -> None:
    document = value(1, 1)
    document["server_list"][0]["device"] = [{"device_id": "0", "rank_id": "0"} | ({"device_ip": ip} if ip else {})]
    there, _ = convert(READERS["1.0"](document), "2.0")
    assert [one.type for level in there.every[0].levels for one in level.addresses] == [
        "IPV6" if ":" in text else "IPV4" for text in (ip or "").split(",") if text
    ]
    back, lost = convert(there, "1.0")
    assert back.every[0].ip == ip
    assert any("get no device_ip" in line for line in lost) == (ip is None)


def test_the_address_of_the_outermost_network_is_taken() -> None:
    document = ranks_value(1)
    inner, outer = document["rank_list"][0]["level_list"]
    inner["rank_addr_list"] = [{"addr_type": "IPV4", "addr": "10.9.9.9", "ports": ["0/1"]}]
    assert convert(READERS["2.0"](document), "1.0")[0].every[0].ip == "192.168.100.1"
    outer["rank_addr_list"][0] |= {"addr_type": "EID", "addr": f"{9:032x}"}
    assert convert(READERS["2.0"](document), "1.0")[0].every[0].ip == "10.9.9.9"


def test_super_pods_in_unknown_keys_of_version_1_0_are_used() -> None:
    document = pods_value(2, 2, 2) | {"version": "1.0"}
    converted, lost = convert(READERS["1.0"](document), "1.2")
    assert lost == ()
    assert converted == SOURCES["1.2"]
    with pytest.raises(KitError, match="super_pod_list"):
        convert(READERS["1.0"](document | {"super_pod_list": 1}), "1.2")


def test_a_cloud_table_has_the_rank_order_of_hccl() -> None:
    document = value(11, 1)  # "10.0.0.10" and "10.0.0.11" come before "10.0.0.2"
    converted, lost = convert(READERS["1.0"](document), "template2")
    assert any(line.startswith("10 of 11 ranks change") for line in lost)
    read_again = READERS[""](json.loads(write(converted)))
    assert [device.rank for device in read_again.every] == [device.rank for device in converted.every]


def test_template_2_has_one_address_for_each_device() -> None:
    document = value(1, 2)
    for device in document["server_list"][0]["device"]:
        device["device_ip"] = f"10.0.0.{device['device_id']},10.0.1.{device['device_id']}"
    converted, lost = convert(READERS["1.0"](document), "template2")
    assert [device.ip for device in converted.every] == ["10.0.0.0", "10.0.0.1"]
    assert "2 devices keep only the first of their addresses: template 2 has one for each" in lost


def test_an_address_of_several_ports_is_one_address() -> None:
    document = ranks_value(1)
    document["rank_list"][0]["level_list"][1]["rank_addr_list"] *= 2
    assert convert(READERS["2.0"](document), "1.0")[0].every[0].ip == "192.168.100.1"
