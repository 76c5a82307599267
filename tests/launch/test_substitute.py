"""Replacing a server by a spare: ranks and everything else are kept, and a mismatch is an error."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.check.engine import check_text
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.substitute import new_table, substituted
from hccl_kit.table import formats
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.operations.generate import generate_cluster

cards = st.sets(st.integers(0, 7), min_size=1, max_size=8).map(sorted)


def hosts(count: int, ids: list[int], *, first: int = 1) -> list[Host]:
    return [
        Host(f"10.0.0.{number}", {device: Card(f"192.168.{100 + device}.{number}") for device in ids})
        for number in range(first, first + count)
    ]


def entry_of(host: Host, version: str = "1.0") -> str:
    table = generate_cluster([host], version=version)
    return json.dumps(json.loads(formats.write(table))["server_list"][0])


@given(st.integers(2, 6), cards, st.data())
def test_ranks_and_all_other_servers_are_unchanged_and_the_table_is_valid(
    count: int, ids: list[int], data: st.DataObject
) -> None:
    table = generate_cluster(hosts(count, ids), version="1.0")
    spares = hosts(3, list(range(8)), first=200)
    places = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3))
    names, pairs = [server.id for server in table.servers], []
    for place, spare in zip(places, spares, strict=False):
        pairs.append((names[place], entry_of(spare)))
        names[place] = spare.id
    made = check_text(new_table(TableFile("t.json", formats.write(table)), pairs).text, "t.json")
    assert made.ok, made.findings
    assert made.table is not None
    assert [server.id for server in made.table.servers] == names
    for server, other in zip(made.table.servers, table.servers, strict=True):
        assert [(one.id, one.rank) for one in server.devices] == [(one.id, one.rank) for one in other.devices]
        if server.id == other.id:
            assert server == other
        else:
            last = server.id.rpartition(".")[2]
            assert [device.ip for device in server.devices] == [f"192.168.{100 + i.id}.{last}" for i in server.devices]


def test_ports_stay_with_the_rank_and_addresses_are_those_of_the_spare() -> None:
    table = json.loads(formats.write(generate_cluster(hosts(2, [0]), version="1.0")))
    table["server_list"][1]["device"][0]["device_port"] = "17000"
    spare = json.loads(entry_of(hosts(1, [0], first=9)[0]))
    (device,) = substituted(table, "10.0.0.2", spare)["server_list"][1]["device"]
    assert device == {"device_id": "0", "device_ip": "192.168.100.9", "rank_id": "1", "device_port": "17000"}


def test_the_spare_takes_the_position_of_the_server_in_its_super_pod() -> None:
    table = {
        "server_list": [{"server_id": "a", "device": [{"device_id": "0", "rank_id": "0"}]}],
        "super_pod_list": [{"super_pod_id": "p", "server_list": [{"server_id": "a"}, {"server_id": "b"}]}],
    }
    made = substituted(table, "a", {"server_id": "c", "device": [{"device_id": "0", "rank_id": "5"}]})
    assert made["super_pod_list"] == [{"super_pod_id": "p", "server_list": [{"server_id": "c"}, {"server_id": "b"}]}]
    assert made["server_list"] == [{"server_id": "c", "device": [{"device_id": "0", "rank_id": "0"}]}]


@pytest.mark.parametrize(
    ("lost", "spare", "message"),
    [
        ("10.0.0.7", hosts(1, [0, 1], first=9)[0], "the table does not list server '10.0.0.7' exactly once"),
        ("10.0.0.1", hosts(1, [0, 1], first=2)[0], "spare 10.0.0.2 is already a server of the table"),
        ("10.0.0.1", hosts(1, [0], first=9)[0], "spare 10.0.0.9 has no card 1, which server 10.0.0.1 uses"),
    ],
)
def test_a_mismatch_is_named(lost: str, spare: Host, message: str) -> None:
    text = formats.write(generate_cluster(hosts(2, [0, 1]), version="1.0"))
    with pytest.raises(KitError) as caught:
        new_table(TableFile("t.json", text), [(lost, entry_of(spare))])
    assert caught.value.message == f"the spare does not fit: {message}"


def test_the_name_of_the_table_has_its_digest() -> None:
    text = formats.write(generate_cluster(hosts(2, [0]), version="1.0"))
    made = new_table(TableFile("t.json", text), [("10.0.0.1", entry_of(hosts(1, [0], first=9)[0]))])
    assert made.name == f"t-{made.sha256[:12]}.json"
