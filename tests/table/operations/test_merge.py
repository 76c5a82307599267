"""Merging: associative, independent of the order of the inputs, and no device is lost."""

from collections import Counter
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.check.engine import check_text
from hccl_kit.table.formats import rank_list, write
from hccl_kit.table.formats.server_list import from_value
from hccl_kit.table.model import Device, PodServer, RankTable, Server, SuperPod
from hccl_kit.table.operations.merge import file_name, is_merged, merge, natural
from hccl_kit.table.operations.split import split
from tests.tables import pods_value, ranks_value, value


def single(number: int, cards: int = 2, **more: Any) -> RankTable:
    """The table of one server, with ranks in reverse order of the devices."""
    devices = tuple(Device(d, f"192.168.{d}.{number}", cards - 1 - d) for d in range(cards))
    return RankTable("1.0", "completed", (Server(f"10.0.0.{number}", devices),), declared_servers=1, **more)


parts = st.lists(
    st.tuples(st.integers(1, 250), st.integers(1, 8)), min_size=1, max_size=6, unique_by=lambda one: one[0]
)


@given(parts)
def test_merging_is_associative(drawn: list[tuple[int, int]]) -> None:
    tables = [single(*one) for one in drawn]
    for order in ("natural", "as-given"):
        at_once = merge(tables, order=order)
        one_by_one = reduce(lambda left, right: merge([left, right], order=order), tables)
        from_the_end = reduce(lambda right, left: merge([left, right], order=order), reversed(tables))
        assert merge([at_once], order=order) == at_once
        assert len(tables) == 1 or at_once == one_by_one == from_the_end


@given(parts, st.randoms(use_true_random=False))
def test_the_order_of_the_inputs_does_not_matter(drawn: list[tuple[int, int]], chance: Any) -> None:
    tables = [single(*one) for one in drawn]
    shuffled = list(tables)
    chance.shuffle(shuffled)
    assert merge(tables) == merge(shuffled)


@given(parts)
def test_every_device_is_kept_and_ranks_are_consecutive(drawn: list[tuple[int, int]]) -> None:
    tables = [single(*one) for one in drawn]
    merged = merge(tables)

    def devices(table: RankTable) -> Counter[Any]:
        return Counter((server.id, device.id, device.ip) for server, device in table.devices())

    assert devices(merged) == sum(map(devices, tables), Counter())
    assert sorted(device.rank for device in merged.every) == list(range(merged.world_size))
    assert check_text(write(merged), "t.json").ok
    for server in merged.servers:  # the order of the ranks of a server is kept: here reverse to that of its devices
        ranks = [device.rank for device in server.devices]
        assert ranks == list(range(ranks[0], ranks[0] - len(ranks), -1))


def test_servers_are_in_natural_order() -> None:
    tables = [single(number) for number in (10, 2, 1)]
    assert [server.id for server in merge(tables).servers] == ["10.0.0.1", "10.0.0.2", "10.0.0.10"]
    assert [server.id for server in merge(tables, order="as-given").servers] == ["10.0.0.10", "10.0.0.2", "10.0.0.1"]
    names = ["node10", "fd00::a", "node2", "fd00::9", "10.0.0.9", "node02"]
    assert sorted(names, key=natural) == ["10.0.0.9", "fd00::9", "fd00::a", "node02", "node2", "node10"]
    assert natural("fd00::9") != natural("fd00:0::9")  # otherwise the order of two such inputs would matter


def test_super_pods_with_one_id_are_merged_and_unknown_keys_are_kept() -> None:
    whole = from_value(pods_value(pods=2, servers=2, cards=2) | {"cluster": "a"})
    for order in ("natural", "as-given"):
        assert merge(split(whole), order=order) == whole
    assert merge(list(reversed(split(whole)))) == whole


def test_servers_of_one_super_pod_are_adjacent() -> None:
    def one(number: int, pod: str) -> RankTable:
        table = single(number)
        pods = (SuperPod(pod, (PodServer(f"10.0.0.{number}"),)),)
        return RankTable("1.2", "completed", table.servers, super_pods=pods)

    merged = merge([one(1, "b"), one(2, "a"), one(3, "b")])
    assert [server.id for server in merged.servers] == ["10.0.0.2", "10.0.0.1", "10.0.0.3"]
    assert merged.super_pods is not None
    assert [pod.id for pod in merged.super_pods] == ["a", "b"]
    assert merged.declared_servers is None


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (single(1), 'server "10.0.0.1" is in a.json and in b.json'),
        (RankTable("1.2", "completed", ()), "a.json is of version 1.0 and b.json of version 1.2"),
        (RankTable("", "completed", ()), "b.json is of template 2; only versions 1.0, 1.2, 2.0 can be merged"),
        (RankTable("1.1", "completed", ()), "b.json is of version 1.1; only versions"),
        (RankTable("1.0", "initializing", ()), "b.json is not ready"),
        (
            RankTable("1.0", "completed", (Server("s", (Device(3, "10.9.9.9,192.168.0.1", 0),)),)),
            'device 3 of server "s" in b.json has the address "192.168.0.1", and so has device 0',
        ),
        (RankTable("1.0", "completed", (Server("127.0.0.1", (Device(0, None, 0),)),)), "a loopback address"),
        (single(2, extra={"job": "y"}), 'the key "job" of the table is "x" in a.json and "y" in b.json'),
    ],
)
def test_incompatible_tables_are_refused_and_both_are_named(second: RankTable, words: str) -> None:
    with pytest.raises(KitError, match=r"b\.json") as caught:
        merge([single(1, extra={"job": "x"}), second], names=["a.json", "b.json"])
    assert words in caught.value.message


def test_the_status_of_version_2_does_not_prevent_merging() -> None:
    parts = [part._replace(status="initializing") for part in split(rank_list.from_value(ranks_value(6, 3)))]
    assert merge(parts).status == "completed"


def test_tables_of_version_2_are_merged_by_their_networks() -> None:
    whole = rank_list.from_value(ranks_value(6, 3))
    parts = split(whole)
    merged = merge(list(reversed(parts)))
    assert [server.id for server in merged.servers] == ["pod0", "pod1", "pod2"]
    assert [device.rank for device in merged.every] == [0, 1, 2, 3, 4, 5]
    assert merged.declared_ranks == 6
    assert check_text(write(merged), "t.json").ok
    without_status = [rank_list.from_value(rank_list.to_value(part._replace(status=""))) for part in parts]
    assert merge(without_status) == merged


def test_a_single_table_may_have_a_loopback_server_id() -> None:
    table = RankTable("1.0", "completed", (Server("127.0.0.1", (Device(0, None, 0),)),))
    assert merge([table]) == table


def test_merging_no_tables_is_refused() -> None:
    with pytest.raises(KitError):
        merge([])


def test_merged_files_are_recognised_by_name() -> None:
    assert is_merged(file_name(merge([single(1), single(2)])))
    assert file_name(merge([single(1), single(2)])) == "hccl_2s_4p.json"
    assert not is_merged("hccl_8p_01234567_10.0.0.1.json")


def test_thousands_of_tables_can_be_merged() -> None:
    tables = [from_value(_alone(number)) for number in range(8192)]
    assert merge(tables).world_size == 8192


def _alone(number: int) -> dict[str, Any]:
    table = value(1, 1)
    server = table["server_list"][0]
    server["server_id"] = f"10.{number // 250}.0.{number % 250}"
    server["device"][0]["device_ip"] = f"11.{number // 250}.0.{number % 250}"
    return table
