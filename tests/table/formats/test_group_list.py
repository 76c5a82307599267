"""Template 2: tables round-trip, ranks are numbered as in HCCL, and every pointer exists in the document."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.table.bounds import LAB, NIC_LOCATION
from hccl_kit.table.formats import server_list, write
from hccl_kit.table.formats.group_list import from_value, in_document, to_value
from hccl_kit.table.formats.shape import StructureError
from tests.changes import at
from tests.groups import cloud, lab
from tests.tables import json_values, value

more = st.dictionaries(st.text(min_size=1).map(lambda key: "x" + key), json_values, max_size=2)
counts = st.integers(0, 2**32 - 1).map(str)


def objects(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda known, extra: {**known, **extra}, st.fixed_dictionaries(members), more)


def documents(
    label: dict[str, Any], numbers: dict[str, Any], head: dict[str, Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Any file of one of the forms, valid or not."""
    device = objects(device_id=counts, device_ip=st.text())
    instance = objects(**label, server_id=st.sampled_from("abc"), devices=st.lists(device, max_size=2))
    group = objects(
        group_name=st.text(), instance_count=counts, **numbers, instance_list=st.lists(instance, max_size=3)
    )
    return objects(**head, status=st.text(), group_count=counts, group_list=st.lists(group, min_size=1, max_size=2))


clouds = documents({"pod_name": st.text()}, {"device_count": counts}, {})
labs = documents(
    {"rank_id": counts}, {"device_num": counts, "server_num": counts}, {LAB: json_values, NIC_LOCATION: st.text()}
)


@given(clouds | labs)
def test_reading_and_writing_round_trip(document: dict[str, Any]) -> None:
    table = from_value(document)
    assert to_value(table) == document
    assert from_value(to_value(table)) == table
    assert json.loads(write(table)) == document


@given(clouds | labs)
def test_every_pointer_of_a_rule_exists_in_the_document(document: dict[str, Any]) -> None:
    table = from_value(document)
    for server, device in table.devices():
        assert at(document, in_document((*device.at, "device_id"))) == str(device.id)
        assert at(document, in_document((*device.at, "device_ip"))) == device.ip
        assert at(document, in_document((*server.at, "server_id"))) == server.id
        assert isinstance(at(document, in_document((*server.at, "device"))), list)
    assert in_document(()) == ()


def test_the_rank_of_a_device_is_that_of_its_instance() -> None:
    document = lab()
    for device in from_value(document).every:
        assert at(document, in_document((*device.at, "rank_id"))) == str(device.rank)


def test_in_the_cloud_form_ranks_are_sorted_by_server_id_as_text_and_device_id() -> None:
    document = cloud(pods=3, cards=2)
    for instance, name in zip(document["group_list"][0]["instance_list"], ["b", "a10", "a2"], strict=True):
        instance["server_id"] = name
        instance["devices"].reverse()
    table = from_value(document)
    ranks = {(server.id, device.id): device.rank for server, device in table.devices()}
    assert ranks == {("a10", 0): 0, ("a10", 1): 1, ("a2", 0): 2, ("a2", 1): 3, ("b", 0): 4, ("b", 1): 5}
    assert [server.id for server in table.servers] == ["b", "a10", "a2"]


def test_pods_of_one_server_are_merged_at_its_first_position() -> None:
    table = from_value(lab(servers=2, cards=4))
    assert [(server.id, len(server.devices)) for server in table.servers] == [("10.0.0.0", 4), ("10.0.0.1", 4)]
    assert table.servers[1].at == ("group_list", 0, "instance_list", 4)
    document = cloud(pods=2, cards=1, groups=2)
    for group in document["group_list"]:
        for instance in group["instance_list"]:
            instance["server_id"] = "one"
    (server,) = from_value(document).servers
    assert [device.at[:4] for device in server.devices] == [
        ("group_list", g, "instance_list", i) for g in range(2) for i in range(2)
    ]


@pytest.mark.parametrize("devices", [0, 2])
def test_ranks_are_consecutive_if_one_has_no_or_several_devices(devices: int) -> None:
    document = lab(servers=1, cards=4)
    held = document["group_list"][0]["instance_list"][1]["devices"]
    held[:] = [copy.deepcopy(held[0]) for _ in range(devices)]
    table = from_value(document)
    assert [device.rank for device in table.every] == list(range(3 + devices))
    assert to_value(table) == document


def test_a_table_without_groups_becomes_one_group_with_a_pod_for_every_server() -> None:
    table = server_list.from_value(value(servers=2, cards=2))
    written = to_value(table._replace(version="", extra={}))
    (group,) = written["group_list"]
    assert (written["group_count"], group["instance_count"], group["device_count"]) == ("1", "2", "4")
    assert [instance["pod_name"] for instance in group["instance_list"]] == ["10.0.0.1", "10.0.0.2"]
    assert [(s.id, d) for s, d in from_value(written).by_rank()] == [(s.id, d) for s, d in table.by_rank()]


def test_ranks_are_kept_with_the_key_of_the_lab_form() -> None:
    document = value(servers=2, cards=2)
    for server in document["server_list"]:
        for device in server["device"]:
            device["rank_id"] = str(3 - int(device["rank_id"]))
    table = server_list.from_value(document)
    written = to_value(table._replace(version="", extra={LAB: "lab", NIC_LOCATION: "device"}))
    (group,) = written["group_list"]
    assert [instance["rank_id"] for instance in group["instance_list"]] == ["0", "1", "2", "3"]
    assert (group["device_num"], group["server_num"], group["instance_count"]) == ("4", "2", "4")
    assert [(s.id, d) for s, d in from_value(written).by_rank()] == [(s.id, d) for s, d in table.by_rank()]


def test_devices_in_a_group_of_one_pod_may_have_no_address() -> None:
    document = cloud(pods=1, groups=2)
    del document["group_list"][1]["instance_list"][0]["devices"][0]["device_ip"]
    assert [device.ip for device in from_value(document).every].count(None) == 1
    for needy in (cloud(pods=2), lab()):
        del needy["group_list"][0]["instance_list"][0]["devices"][0]["device_ip"]
        with pytest.raises(StructureError):
            from_value(needy)


@pytest.mark.parametrize("document", [None, [], {}, "x", cloud() | {"version": "1.0"}, cloud() | {LAB: "lab"}])
def test_other_documents_are_refused(document: object) -> None:
    with pytest.raises(StructureError):
        from_value(document)
