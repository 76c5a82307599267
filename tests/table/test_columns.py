"""Columns of a table match the ranks of the table as objects."""

import pytest

from hccl_kit.check.engine import check_text
from tests.check.quick.tables import VALID, text_of

WITHOUT = ("backups", "one rank", "options of 2.0", "ports", "ranks")
"""Their devices have more data than the columns."""


@pytest.mark.parametrize("name", sorted(VALID))
def test_columns_match_the_table(name: str) -> None:
    content = check_text(text_of(VALID[name], 1), "t.json").content
    assert content is not None
    columns = content.columns
    if name in WITHOUT:
        assert columns is None
        return
    assert columns is not None
    table = content.table
    assert list(columns.servers) == [server.id for server in table.servers]
    assert [tuple(map(int, cards)) for cards in columns.cards] == [
        tuple(device.id for device in server.devices) for server in table.servers
    ]
    assert list(columns.ranks()) == [device.rank for device in table.every]
    assert list(columns.ips) == [device.ip for device in table.every]
    assert [int(sdid) for sdid in columns.sdids] == [device.sdid for device in table.every if device.sdid is not None]
    assert list(columns.pods) == [(pod.id, len(pod.servers)) for pod in table.super_pods or ()]
    assert list(columns.by_server(range(table.world_size)))[-1][-1] == table.world_size - 1


def test_a_template_without_ranks_is_numbered_as_in_hccl() -> None:
    """Sorted by server id as text, so 10.0.0.10 comes before 10.0.0.2, and by device id."""
    pods = [("10.0.0.2", "10"), ("10.0.0.10", "01")]
    listed = [
        {
            "pod_name": name,
            "server_id": name,
            "devices": [{"device_id": card, "device_ip": f"192.168.{card}.{len(name)}"} for card in cards],
        }
        for name, cards in pods
    ]
    group = {"group_name": "g", "instance_count": "2", "device_count": "4", "instance_list": listed}
    text = text_of({"status": "completed", "group_count": "1", "group_list": [group]}, 0)
    content = check_text(text, "t.json").content
    assert content is not None
    assert content.columns is not None
    assert list(content.columns.ranks()) == [3, 2, 0, 1] == [device.rank for device in content.table.every]
