"""Rank tables as values."""

from hypothesis import given

from hccl_kit.table.model import Device, RankTable, Server
from tests.tables import tables


@given(tables)
def test_devices_by_rank_are_all_devices(table: RankTable) -> None:
    in_order = table.by_rank()
    assert sorted(map(repr, in_order)) == sorted(map(repr, table.devices()))
    assert [device.rank for _, device in in_order] == sorted(device.rank for _, device in table.devices())
    assert table.world_size == len(in_order)


def test_the_position_in_a_document_does_not_affect_equality() -> None:
    here, there = Device(0, None, 0, at=("server_list", 0, "device", 0)), Device(0, None, 0)
    assert here == there
    assert Server("a", (here,), at=("server_list", 0)) == Server("a", (there,))
