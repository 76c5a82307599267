"""Version 2.0: tables round-trip."""

import json

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.table.formats import write
from hccl_kit.table.formats.rank_list import from_value, to_value
from tests.tables import ranks_value

FULL = ranks_value(4, 2) | {"detour": "true", "note": "服务器"}
FULL["rank_list"][1] |= {
    "device_port": 16667,
    "host_port": 16668,
    "replaced_local_id": 3,
    "control_plane": {"addr_type": "IPV4", "addr": "10.0.0.1", "listen_port": 8000},
    "x": [1],
}
FULL["rank_list"][2]["level_list"][1] |= {"net_attr": "", "x": None}
FULL["rank_list"][2]["level_list"][1]["rank_addr_list"][0] |= {"plane_id": "a", "backup_addr": ["10.0.0.1"]}


@given(st.integers(1, 12), st.integers(1, 4))
def test_reading_and_writing_round_trip(ranks: int, networks: int) -> None:
    document = ranks_value(ranks, networks)
    table = from_value(document)
    assert to_value(table) == document
    assert json.loads(write(table)) == document
    assert from_value(to_value(table)) == table
    assert len(table.servers) == min(ranks, networks)


def test_every_key_round_trips() -> None:
    assert to_value(from_value(FULL)) == FULL
    without = {key: item for key, item in FULL.items() if key != "status"}
    assert to_value(from_value(without)) == without
    for status in ("", None, 1):
        odd = FULL | {"status": status}
        assert to_value(from_value(odd)) == odd
        assert from_value(odd).status == ""


def test_ranks_are_written_in_order_and_have_their_pointer() -> None:
    document = ranks_value(4, 2)
    document["rank_list"].reverse()
    table = from_value(document)
    assert [rank["rank_id"] for rank in to_value(table)["rank_list"]] == [0, 1, 2, 3]
    assert [device.at for _, device in table.by_rank()] == [("rank_list", 3 - n) for n in range(4)]
    assert [server.id for server in table.servers] == ["pod1", "pod0"]
