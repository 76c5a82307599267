"""Semantic differences: none between formattings of one table, and one for each change."""

import copy
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.table.formats import group_list, node_list, rank_list, read
from hccl_kit.table.formats.kinds import recognise
from hccl_kit.table.formats.server_list import from_value
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.diff import Change, diff
from hccl_kit.table.operations.digest import digest
from hccl_kit.table.pointer import Pointer
from tests.changes import altered, changed, put
from tests.groups import cloud, lab, nodes
from tests.table.formats.test_rank_list import FULL
from tests.table.operations.test_digest import GOOD, shuffled
from tests.tables import json_values, pod_tables, pods_value, ranks_value, tables


@given(st.randoms(use_true_random=False))
def test_order_does_not_matter(chance: Any) -> None:
    assert diff(from_value(GOOD), from_value(shuffled(GOOD, chance))) == ()


@given(tables)
def test_a_table_has_no_difference_from_itself(table: Any) -> None:
    assert diff(table, table) == ()


DEVICE = ("server_list", 1, "device", 0)


def test_one_change_is_one_difference() -> None:
    for pointer, other, change in (
        ((*DEVICE, "device_ip"), "9.9.9.9", Change("address", '"192.168.100.2"', '"9.9.9.9"', "10.0.0.2", 0)),
        ((*DEVICE, "rank_id"), "9", Change("rank", "2", "9", "10.0.0.2", 0)),
        ((*DEVICE, "super_device_id"), "9", Change("super_device_id", "4194304", "9", "10.0.0.2", 0)),
        ((*DEVICE, "pod_ip"), "1", Change('key "pod_ip"', None, '"1"', "10.0.0.2", 0)),
        (("server_list", 1, "host_ip"), "1.1.1.1", Change('key "host_ip"', None, '"1.1.1.1"', "10.0.0.2")),
        (("status",), "initializing", Change("status", '"completed"', '"initializing"')),
        (("job",), "x", Change('key "job"', None, '"x"')),
    ):
        assert diff(from_value(GOOD), from_value(changed(GOOD, put(*pointer, other)))) == (change,), (pointer, other)


def test_added_and_removed_servers_devices_and_pods_are_named() -> None:
    whole, half = from_value(pods_value(2, 2, 2)), from_value(pods_value(1, 2, 2))
    assert diff(whole, half) == (
        Change('super pod "1"', "2 servers", None),
        Change("server", "2 devices", None, "10.0.0.3"),
        Change("server", "2 devices", None, "10.0.0.4"),
    )
    fewer = copy.deepcopy(GOOD)
    fewer["server_list"][3]["device"].pop()
    assert diff(from_value(GOOD), from_value(fewer)) == (Change("device", "rank 7", None, "10.0.0.4", 1),)


def test_a_shift_of_all_ranks_is_one_difference() -> None:
    shifted = copy.deepcopy(GOOD)
    for server in shifted["server_list"]:
        for device in server["device"]:
            device["rank_id"] = str(int(device["rank_id"]) + 8)
    assert diff(from_value(GOOD), from_value(shifted)) == (Change("every rank", "rank", "rank +8"),)
    first = copy.deepcopy(GOOD)
    first["server_list"][0]["device"] = copy.deepcopy(shifted["server_list"][0]["device"])
    assert diff(from_value(GOOD), from_value(first)) == (Change("every rank", "rank", "rank +8", "10.0.0.1"),)


def test_servers_that_move_between_super_pods_are_named() -> None:
    renamed = changed(GOOD, put("super_pod_list", 1, "super_pod_id", "x"))
    assert diff(from_value(GOOD), from_value(renamed)) == (
        Change('super pod "1"', "2 servers", None),
        Change('super pod "x"', None, "2 servers"),
        Change("super pod", '"1"', '"x"', "10.0.0.3"),
        Change("super pod", '"1"', '"x"', "10.0.0.4"),
    )
    without = {key: item for key, item in GOOD.items() if key != "super_pod_list"}
    assert diff(from_value(GOOD), from_value(without)) == (Change("super_pod_list", "2 super pods", None),)
    marked = changed(GOOD, put("super_pod_list", 1, "server_list", 0, "server_index", "1"))
    change = Change('key "server_index" in its super pod', None, '"1"', "10.0.0.3")
    assert diff(from_value(GOOD), from_value(marked)) == (change,)


def test_only_a_wrong_count_is_a_difference() -> None:
    assert diff(from_value(GOOD), from_value(changed(GOOD, put("server_count", "3")))) == (
        Change("server_count", "right", "3 for 4"),
    )


RANK = ("rank_list", 1, "level_list", 1)


def test_networks_and_addresses_of_version_2_are_distinguished() -> None:
    rows: list[tuple[Pointer, Any, tuple[str, str | None, str]]] = [
        (
            (*RANK, "rank_addr_list", 0, "addr"),
            "9.9.9.9",
            ("address 0 of layer 3", 'IPV4 "192.168.100.2" at ["d2h"]', 'IPV4 "9.9.9.9" at ["d2h"]'),
        ),
        (
            (*RANK, "rank_addr_list", 0, "ports", 0),
            "0/1",
            ("address 0 of layer 3", 'IPV4 "192.168.100.2" at ["d2h"]', 'IPV4 "192.168.100.2" at ["0/1"]'),
        ),
        ((*RANK, "rank_addr_list", 0, "plane_id"), "1", ('key "plane_id" of address 0 of layer 3', None, '"1"')),
        ((*RANK, "net_type"), "1DMESH", ("layer 3", '"cluster" of layer 3, CLOS', '"cluster" of layer 3, 1DMESH')),
        ((*RANK, "net_attr"), "", ('key "net_attr" of layer 3', None, '""')),
        (("rank_list", 1, "local_id"), 7, ("local_id", "1", "7")),
    ]
    good = ranks_value()
    for pointer, other, change in rows:
        assert diff(rank_list.from_value(good), rank_list.from_value(changed(good, put(*pointer, other)))) == (
            Change(*change, server="pod0", device=1),
        ), pointer


def test_an_added_level_is_a_difference_with_its_addresses() -> None:
    good, less = ranks_value(), ranks_value()
    less["rank_list"][0]["level_list"].pop()
    assert diff(rank_list.from_value(less), rank_list.from_value(good)) == (
        Change("layer 3", None, '"cluster" of layer 3, CLOS', "pod0", 0),
        Change("address 0 of layer 3", None, 'IPV4 "192.168.100.1" at ["d2h"]', "pod0", 0),
    )


def test_ranks_without_npu_are_distinguished_by_their_ranks() -> None:
    document = nodes()
    document["node_list"][1]["ranks"][1].pop("device_id")
    turned = copy.deepcopy(document)
    turned["node_list"][1]["ranks"].reverse()
    assert diff(node_list.from_value(document), node_list.from_value(turned)) == ()


def test_a_removed_key_is_a_difference() -> None:
    marked = from_value(changed(GOOD, put(*DEVICE, "pod_ip", "1")))
    assert diff(marked, from_value(GOOD)) == (Change('key "pod_ip"', '"1"', None, "10.0.0.2", 0),)


def test_groups_and_pods_are_distinguished() -> None:
    for pointer, other, change in (
        (("group_list", 0, "group_name"), "x", None),
        (
            ("group_list", 0, "instance_list", 0, "pod_name"),
            "x",
            Change('pod "pod-0-0" of group "group0"', 'server "10.0.0.0", devices [0, 1]', None),
        ),
        (
            ("group_list", 0, "instance_count"),
            "9",
            Change(
                'counts of group "group0"',
                "instances right, devices right, servers right",
                "instances 9 for 2, devices right, servers right",
            ),
        ),
        (("group_list", 0, "x"), 1, Change('key "x" of group "group0"', None, "1")),
        (
            ("group_list", 0, "instance_list", 0, "x"),
            1,
            Change('key "x" of pod "pod-0-0" of group "group0"', None, "1"),
        ),
        (("group_count",), "2", Change("group_count", "right", "2 for 1")),
    ):
        first, second = (group_list.from_value(one) for one in (cloud(), changed(cloud(), put(*pointer, other))))
        found = diff(first, second)
        assert found[0] == (change or Change('group "group0"', "2 instances", None)), (pointer, other)


def test_true_differs_from_1_and_long_texts_are_compared_completely() -> None:
    for one, other in ((True, 1), (1, 1.0), ("a" * 99 + "x", "a" * 99 + "y")):
        first, second = (from_value(GOOD | {"job": value}) for value in (one, other))
        assert len(diff(first, second)) == 1
    address = ("rank_list", 0, "level_list", 0, "rank_addr_list", 0, "x")
    first, second = (rank_list.from_value(changed(ranks_value(), put(*address, value))) for value in (True, 1))
    assert len(diff(first, second)) == 1


def nothing_twice(table: RankTable) -> bool:
    pods = table.super_pods or ()
    lists: list[list[Any]] = [
        [server.id for server in table.servers],
        [(server.id, device.id) for server, device in table.devices()],
        [pod.id for pod in pods],
        [server.id for pod in pods for server in pod.servers],
    ]
    return all(len(set(one)) == len(one) for one in lists)


@given(tables | pod_tables, tables | pod_tables)
def test_tables_without_difference_have_equal_digests(first: RankTable, second: RankTable) -> None:
    if diff(first, second) == ():
        assert digest(first) == digest(second)
    elif nothing_twice(first) and nothing_twice(second):
        assert digest(first) != digest(second)


@given(st.sampled_from([GOOD, FULL, cloud(2, 2, 2), lab()]), st.randoms(use_true_random=False), json_values)
def test_any_change_of_a_document_is_a_difference_if_it_changes_the_digest(
    good: Any, chance: random.Random, replacement: Any
) -> None:
    document = altered(good, chance, ["host_ip", "device_port", "pod_ip", "net_attr"], replacement)
    kinds = [recognise(one) for one in (good, document)]
    if kinds[0] is None or kinds[0] != kinds[1]:
        return
    first, second = (read(one, kinds[0]) for one in (good, document))
    assert isinstance(first, RankTable)
    if isinstance(second, RankTable):
        assert (diff(first, second) == ()) == (digest(first) == digest(second))
