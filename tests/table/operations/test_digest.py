"""The digest ignores formatting and order, and nothing else."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.table.formats import group_list, rank_list
from hccl_kit.table.formats.server_list import from_value
from hccl_kit.table.operations.digest import digest
from tests.changes import changed, put
from tests.groups import cloud, lab
from tests.tables import pods_value, ranks_value


def shuffled(document: Any, chance: Any) -> Any:
    """The document with the keys of every object and every array in another order."""
    if isinstance(document, dict):
        keys = list(document)
        chance.shuffle(keys)
        return {key: shuffled(document[key], chance) for key in keys}
    if isinstance(document, list):
        items = [shuffled(item, chance) for item in document]
        chance.shuffle(items)
        return items
    return document


GOOD = pods_value(pods=2, servers=2, cards=2)


@given(st.randoms(use_true_random=False))
def test_order_does_not_matter(chance: Any) -> None:
    assert digest(from_value(shuffled(GOOD, chance))) == digest(from_value(GOOD))


def test_an_optional_count_does_not_matter() -> None:
    without = {key: item for key, item in GOOD.items() if key != "server_count"}
    assert digest(from_value(without)) == digest(from_value(GOOD))


def test_a_wrong_count_changes_the_digest() -> None:
    assert digest(from_value(GOOD | {"server_count": "3"})) != digest(from_value(GOOD))


@pytest.mark.parametrize("document", [cloud(2, 2, 2), lab()])
def test_order_does_not_matter_in_template_2(document: Any) -> None:
    table = group_list.from_value(document)
    turned = copy.deepcopy(document)
    turned["group_list"].reverse()
    for group in turned["group_list"]:
        group["instance_list"].reverse()
    assert digest(group_list.from_value(turned)) == digest(table)


def test_the_order_of_unknown_keys_does_not_matter() -> None:
    one, other = ({"a": {"b": 1, "c": 2}, "d": 3}, {"d": 3, "a": {"c": 2, "b": 1}})
    assert digest(from_value(GOOD | one)) == digest(from_value(GOOD | other))


DEVICE = ("server_list", 1, "device", 0)


def test_any_other_change_changes_the_digest() -> None:
    for pointer, other in (
        ((*DEVICE, "device_ip"), "192.168.9.9"),
        ((*DEVICE, "rank_id"), "9"),
        ((*DEVICE, "device_id"), "9"),
        ((*DEVICE, "super_device_id"), "9"),
        ((*DEVICE, "pod_ip"), "1"),
        (("server_list", 1, "server_id"), "x"),
        (("server_list", 1, "host_ip"), "10.0.0.2"),
        (("super_pod_list", 0, "super_pod_id"), "x"),
        (("super_pod_list", 0, "server_list", 0, "server_index"), "1"),
        (("status",), "initializing"),
        (("job",), "x"),
    ):
        assert digest(from_value(changed(GOOD, put(*pointer, other)))) != digest(from_value(GOOD)), (pointer, other)


LEVEL = ("rank_list", 0, "level_list", 1)


def test_any_change_of_version_2_changes_the_digest() -> None:
    for pointer, other in (
        (("rank_list", 0, "local_id"), 9),
        ((*LEVEL, "net_layer"), 2),
        ((*LEVEL, "net_instance_id"), "x"),
        ((*LEVEL, "net_type"), "1DMESH"),
        ((*LEVEL, "net_attr"), "x"),
        ((*LEVEL, "rank_addr_list", 0, "addr_type"), "IPV6"),
        ((*LEVEL, "rank_addr_list", 0, "addr"), "9.9.9.9"),
        ((*LEVEL, "rank_addr_list", 0, "ports"), ["0/1"]),
        ((*LEVEL, "rank_addr_list", 0, "plane_id"), "1"),
        (("rank_count",), 3),
    ):
        document = changed(ranks_value(), put(*pointer, other))
        assert digest(rank_list.from_value(document)) != digest(rank_list.from_value(ranks_value())), (pointer, other)
