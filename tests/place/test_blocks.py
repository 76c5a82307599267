"""A table as a hierarchy of blocks, and a table with reordered ranks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.place.blocks import cluster_of, reordered
from hccl_kit.table.model import RankTable
from tests.place.clusters import small_tables, table_of


def test_blocks_are_super_pods_servers_and_card_pairs() -> None:
    cluster = cluster_of(table_of([[[0, 1, 2], [5]], [[1, 2]]]))
    assert cluster.levels == ("super pod", "server", "card pair")
    assert cluster.domains() == ([0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 2, 2], [0, 0, 1, 2, 3, 4])


def test_a_table_without_super_pods_has_two_levels() -> None:
    cluster = cluster_of(table_of([[[0, 1]], [[0, 1]]], [2, 3, 0, 1], has_pods=False))
    assert cluster.levels == ("server", "card pair")
    assert cluster.domains() == ([0, 0, 1, 1], [0, 0, 1, 1]), "in the order of the ranks"


def test_a_server_outside_super_pods_forms_its_own_block() -> None:
    table = table_of([[[0]], [[0]]])
    assert cluster_of(table._replace(super_pods=(table.super_pods or ())[:1])).domains()[0] == [0, 1]


@given(small_tables(), st.data())
def test_only_ranks_and_order_change(table: RankTable, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(table.world_size)))
    new = reordered(table, order)

    def devices(of: RankTable) -> dict[tuple[str, int], int]:
        return {(server.id, device.id): device.rank for server, device in of.devices()}

    before, after = devices(table), devices(new)
    assert before.keys() == after.keys()
    assert all(order[after[key]] == before[key] for key in before)
    lowest = [min(device.rank for device in server.devices) for server in new.servers]
    assert lowest == sorted(lowest)
    assert all(list(server.devices) == sorted(server.devices, key=lambda one: one.rank) for server in new.servers)
    pods = [{(pod.id, one.id) for pod in of.super_pods or () for one in pod.servers} for of in (table, new)]
    assert pods[0] == pods[1]


@pytest.mark.parametrize("version", ["", "1.1"])
def test_a_version_whose_ranks_cannot_be_changed_is_refused(version: str) -> None:
    with pytest.raises(KitError) as refused:
        cluster_of(table_of([[[0]]], has_pods=False)._replace(version=version))
    assert "the ranks can be placed of versions 1.0, 1.2, 2.0" in refused.value.message
    assert (refused.value.hint is not None) == (version == "")
