"""Versions 1.0 and 1.2: tables round-trip, and have the format of the existing tool."""

import json

import pytest
from hypothesis import given

from hccl_kit.table.formats import write
from hccl_kit.table.formats.server_list import from_value, to_value
from hccl_kit.table.formats.shape import StructureError
from hccl_kit.table.model import Device, RankTable, Server
from tests.tables import pod_tables, pods_value, tables, text, value


@given(tables | pod_tables)
def test_reading_reverses_writing(table: RankTable) -> None:
    assert from_value(to_value(table)) == table
    assert from_value(json.loads(write(table))) == table


@given(tables | pod_tables)
def test_the_text_matches_the_json_module(table: RankTable) -> None:
    assert write(table) == json.dumps(to_value(table), indent=4, ensure_ascii=False)


def test_super_pods_and_sdids_exist_in_version_1_2_only() -> None:
    document = pods_value(2, 1, 2)
    table = from_value(document)
    assert table.super_pods is not None
    assert [(pod.id, [server.id for server in pod.servers]) for pod in table.super_pods] == [
        ("0", ["10.0.0.1"]),
        ("1", ["10.0.0.2"]),
    ]
    assert [pod.at for pod in table.super_pods] == [("super_pod_list", 0), ("super_pod_list", 1)]
    assert [device.sdid for device in table.every] == [0, 65537, 0, 65537]
    assert (table.extra, table.every[0].extra) == ({}, {})

    table = from_value(document | {"version": "1.0"})
    assert table.super_pods is None
    assert [device.sdid for device in table.every] == [None] * 4
    assert table.extra == {"super_pod_list": document["super_pod_list"]}
    assert table.every[1].extra == {"super_device_id": "65537"}


def test_an_empty_super_pod_list_is_not_an_absent_one() -> None:
    for pods in (None, ()):
        table = RankTable("1.2", "completed", (), super_pods=pods)
        assert ("super_pod_list" in to_value(table)) == (pods is not None)
        assert from_value(to_value(table)).super_pods == pods


def test_every_part_has_its_pointer() -> None:
    table = from_value(value(servers=2, cards=2))
    assert [server.at for server in table.servers] == [("server_list", 0), ("server_list", 1)]
    assert table.servers[1].devices[1].at == ("server_list", 1, "device", 1)


def test_the_text_matches_that_of_hccl_tools() -> None:
    devices = (Device(4, "192.168.100.100", 0), Device(5, "192.168.101.100", 1, extra={"device_port": "16667"}))
    servers = (Server("10.1.6.11", devices, {"host_nic_ip": "reserve"}),)
    table = RankTable("1.0", "completed", servers, declared_servers=1, extra={"note": "服务器"})
    assert (
        write(table)
        == """{
    "version": "1.0",
    "server_count": "1",
    "server_list": [
        {
            "server_id": "10.1.6.11",
            "device": [
                {
                    "device_id": "4",
                    "device_ip": "192.168.100.100",
                    "rank_id": "0"
                },
                {
                    "device_id": "5",
                    "device_ip": "192.168.101.100",
                    "rank_id": "1",
                    "device_port": "16667"
                }
            ],
            "host_nic_ip": "reserve"
        }
    ],
    "status": "completed",
    "note": "服务器"
}"""
    )


def test_a_table_of_hccl_tools_round_trips_byte_for_byte() -> None:
    assert write(from_value(value())) == text()


@pytest.mark.parametrize(
    "document", [None, [], {}, "1.0", value() | {"version": "1.1"}, value() | {"server_count": None}]
)
def test_other_documents_are_refused(document: object) -> None:
    with pytest.raises(StructureError):
        from_value(document)
