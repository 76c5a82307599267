"""Version 1.1: ranks and addresses are read, and tables round-trip."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.table.bounds import HOST
from hccl_kit.table.formats import write
from hccl_kit.table.formats.node_list import from_value, in_document, to_value
from hccl_kit.table.formats.shape import StructureError
from tests.groups import nodes
from tests.tables import json_values

more = st.dictionaries(st.text(min_size=1).map(lambda key: "x" + key), json_values, max_size=2)
counts = st.integers(0, 2**32 - 1).map(str)
ranks = st.builds(
    lambda known, extra: {**known, **extra},
    st.fixed_dictionaries({"rank_id": counts}, optional={"device_id": st.just("-1") | counts, "rank_ip": st.text()}),
    more,
)
documents = st.builds(
    lambda listed, extra: {**nodes(), "node_list": listed, **extra},
    st.lists(st.fixed_dictionaries({"node_addr": st.text(), "ranks": st.lists(ranks, max_size=3)}), max_size=3),
    more,
)


@given(documents)
def test_reading_and_writing_round_trip(document: dict[str, Any]) -> None:
    table = from_value(document)
    assert to_value(table) == document
    assert from_value(to_value(table)) == table
    assert json.loads(write(table)) == document


def test_a_node_is_a_server_and_a_rank_on_the_cpu_is_not_a_device() -> None:
    table = from_value(nodes())
    assert [server.id for server in table.servers] == ["10.0.0.1", "10.0.0.2"]
    assert [(device.id, device.ip) for device in table.every] == [(0, "192.168.0.1"), (HOST, None), (HOST, None)]


def test_every_pointer_of_a_rule_exists_in_the_document() -> None:
    for named, place in (
        (("server_list",), ("node_list",)),
        (("node_list", 0, "server_id"), ("node_list", 0, "node_addr")),
        (("node_list", 0, "device"), ("node_list", 0, "ranks")),
        (("node_list", 0, "ranks", 1, "device_ip"), ("node_list", 0, "ranks", 1, "rank_ip")),
        (("node_list", 0, "ranks", 1, "rank_id"), ("node_list", 0, "ranks", 1, "rank_id")),
        (("node_list", 0), ("node_list", 0)),
        ((), ()),
    ):
        assert in_document(named) == place, (named, place)


@pytest.mark.parametrize(
    "document",
    [None, [], {}, nodes() | {"version": "1.0"}, nodes() | {"heterog_sub_version": "1.3"}, nodes() | {"mode": 1}],
)
def test_other_documents_are_refused(document: object) -> None:
    with pytest.raises(StructureError):
        from_value(document)
