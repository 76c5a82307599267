"""Splitting: a valid table for every server; merging them restores the original."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.check.engine import check_text
from hccl_kit.table.formats import rank_list, write
from hccl_kit.table.formats.server_list import from_value
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.merge import merge
from hccl_kit.table.operations.split import split
from tests.tables import pods_value, ranks_value, value


@given(st.integers(1, 12), st.integers(1, 8))
def test_merging_reverses_splitting(servers: int, cards: int) -> None:
    table = from_value(value(servers, cards))
    parts = split(table)
    assert len(parts) == servers
    assert all(check_text(write(part), "t.json").ok for part in parts)
    assert merge(parts) == table


def test_a_part_has_only_its_super_pod() -> None:
    parts = split(from_value(pods_value(pods=2, servers=2, cards=2)))
    assert [[pod.id for pod in part.super_pods or ()] for part in parts] == [["0"], ["0"], ["1"], ["1"]]
    assert all(len(pod.servers) == 1 for part in parts for pod in part.super_pods or ())
    assert all(check_text(write(part), "t.json").ok for part in parts)


def test_a_part_of_version_2_is_one_network_with_complete_ranks() -> None:
    table = rank_list.from_value(ranks_value(6, 3))
    parts = split(table)
    assert [part.declared_ranks for part in parts] == [2, 2, 2]
    assert all(check_text(write(part), "t.json").ok for part in parts)
    assert [device.levels for part in parts for device in part.every] == [device.levels for device in table.every]


def test_a_table_without_servers_is_refused() -> None:
    with pytest.raises(KitError, match="template 2"):
        split(RankTable("", "completed", ()))
