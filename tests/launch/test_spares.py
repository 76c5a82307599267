"""Which servers can be spares of a table, and a table in which one takes the place of a server."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.check.engine import check_text
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.spares import MAX_SPARES, Spare, cards_in_use, check_names, fit, substituted, table_with
from hccl_kit.table import formats
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.generate import generate_cluster

cards = st.sets(st.integers(0, 7), min_size=1, max_size=8).map(sorted)


def hosts(count: int, ids: list[int], *, first: int = 1) -> list[Host]:
    return [
        Host(f"10.0.0.{number}", {device: Card(f"192.168.{100 + device}.{number}") for device in ids})
        for number in range(first, first + count)
    ]


def spare_of(host: Host) -> Spare:
    (entry,) = json.loads(formats.write(generate_cluster([host], version="1.0")))["server_list"]
    return Spare(host.id, host.id, entry)


TABLE = generate_cluster(hosts(2, [0, 1]), version="1.0")


def fitted(*spares: Host, table: RankTable = TABLE) -> list[tuple[str, str]]:
    singles = [generate_cluster([host], version=table.version) for host in spares]
    file = TableFile("t.json", formats.write(table))
    found = fit(file, table, singles)
    return [(spare.id, spare.address) for spare in found]


def test_spares_are_identified_by_their_address() -> None:
    assert fitted(*hosts(2, [0, 1], first=8)) == [("10.0.0.8", "10.0.0.8"), ("10.0.0.9", "10.0.0.9")]
    assert fitted(Host("spare", {0: Card("192.168.1.1"), 1: Card("192.168.1.2")}, host_ip="10.0.0.9")) == [
        ("spare", "10.0.0.9")
    ]


def test_a_spare_needs_the_cards_of_all_servers() -> None:
    table = generate_cluster([*hosts(1, [0, 1]), *hosts(1, [2], first=2)], version="1.0")
    assert cards_in_use(table) == (0, 1, 2)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("-oProxyCommand=id", "'-oProxyCommand=id' is not an address or a host name"),
        ("10.0.0.9:22", "'10.0.0.9:22' is not an address or a host name"),
        ("10.0.0.300", "'10.0.0.300' is not a valid IPv4 address"),
        ("a b", "'a b' is not an address or a host name"),
        ("a;id", "'a;id' is not an address or a host name"),
        ("root@a", "'root@a' is not an address or a host name"),
        ("a=b", "'a=b' is not an address or a host name"),
        ("\x1b[31m", "'\\x1b[31m' is not an address or a host name"),
        ("", "'' is not an address or a host name"),
        ("10.0.0.2", "spare 10.0.0.2 is already a server of the table"),
        ("10.0.0.8", "spare 10.0.0.8 is listed twice"),
    ],
)
def test_a_name_that_is_not_valid_is_refused(name: str, message: str) -> None:
    with pytest.raises(KitError) as caught:
        check_names(["10.0.0.8", name], TABLE)
    assert caught.value.message.partition("; accepted: ")[0] == message


@pytest.mark.parametrize(("name", "again"), [("fd00::8", "FD00:0::8"), ("spare", "Spare")])
def test_a_duplicate_spare_in_another_spelling_is_refused(name: str, again: str) -> None:
    with pytest.raises(KitError, match=f"spare {again} is listed twice"):
        check_names([name, again], TABLE)


def test_spares_are_refused_for_unsupported_tables() -> None:
    with pytest.raises(KitError, match="a table of one server has no spares"):
        check_names(["10.0.0.8"], generate_cluster(hosts(1, [0]), version="1.0"))
    with pytest.raises(KitError, match=r"a table of version 2\.0 has no spares; accepted: versions 1\.0 and 1\.2"):
        check_names(["10.0.0.8"], TABLE._replace(version="2.0"))
    with pytest.raises(KitError, match=f"65 spares; accepted: at most {MAX_SPARES}"):
        check_names([f"s{number}" for number in range(65)], TABLE)


def test_a_spare_without_a_card_is_refused() -> None:
    with pytest.raises(KitError, match=r"spare 10\.0\.0\.9 has no card 1, which server 10\.0\.0\.1 uses"):
        fitted(*hosts(1, [0], first=9))


def test_every_possible_table_with_spares_is_checked_by_the_rules() -> None:
    """An address of either server, or of another spare that is used at the same time."""
    for taken in ("192.168.100.1", "192.168.101.2"):
        with pytest.raises(KitError, match=r"HK3\d\d: .*, in the table with x in the place of 10\.0\.0\."):
            fitted(Host("x", {0: Card(taken), 1: Card("192.168.101.9")}))
    twins = [Host(name, {0: Card("192.168.100.9"), 1: Card("192.168.101.9")}) for name in ("x", "y")]
    assert fitted(twins[0]) == [("x", "x")]
    with pytest.raises(KitError, match=r"in the table with x in the place of 10\.0\.0\.1 and y in the place of 10"):
        fitted(*twins)


def test_a_spare_of_another_super_pod_is_refused() -> None:
    def host(name: str, pod: str, sdid: int) -> Host:
        return Host(name, {0: Card(f"192.168.0.{sdid}", sdid=sdid)}, super_pod=pod)

    table = generate_cluster([host("a", "p", 1), host("b", "p", 2)], version="1.2")
    assert fitted(host("c", "p", 3), table=table) == [("c", "c")]
    with pytest.raises(KitError) as caught:
        fitted(host("c", "q", 3), table=table)
    assert caught.value.message == "spare c does not fit: it is in super pod q, server a in p"


def test_a_spare_with_unknown_card_properties_is_refused() -> None:
    value = json.loads(formats.write(TABLE))
    value["server_list"][0]["device"][0]["backup_device_ip"] = "192.168.101.1"
    table = check_text(json.dumps(value), "t.json").table
    assert table
    with pytest.raises(KitError, match=r"the cards of the table have backup_device_ip, those of the spare do not"):
        fitted(*hosts(1, [0, 1], first=9), table=table)


@given(st.integers(2, 6), cards, st.data())
def test_ranks_and_all_other_servers_are_unchanged_and_the_table_is_valid(
    count: int, ids: list[int], data: st.DataObject
) -> None:
    table = generate_cluster(hosts(count, ids), version="1.0")
    spares = hosts(3, list(range(8)), first=200)
    places = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3))
    names, pairs = [server.id for server in table.servers], []
    for place, spare in zip(places, spares, strict=False):
        pairs.append((names[place], spare_of(spare)))
        names[place] = spare.id
    made, _ = table_with(TableFile("t.json", formats.write(table)), pairs)
    assert [server.id for server in made.servers] == names
    for server, other in zip(made.servers, table.servers, strict=True):
        assert [(one.id, one.rank) for one in server.devices] == [(one.id, one.rank) for one in other.devices]
        if server.id == other.id:
            assert server == other
        else:
            last = server.id.rpartition(".")[2]
            assert [device.ip for device in server.devices] == [f"192.168.{100 + i.id}.{last}" for i in server.devices]


def test_ports_stay_with_the_rank_and_addresses_are_those_of_the_spare() -> None:
    table = json.loads(formats.write(generate_cluster(hosts(2, [0]), version="1.0")))
    table["server_list"][1]["device"][0]["device_port"] = "17000"
    spare = spare_of(hosts(1, [0], first=9)[0])
    (device,) = substituted(table, "10.0.0.2", spare.entry)["server_list"][1]["device"]
    assert device == {"device_id": "0", "device_ip": "192.168.100.9", "rank_id": "1", "device_port": "17000"}


def test_the_spare_takes_the_position_of_the_server_in_its_super_pod() -> None:
    table = {
        "server_list": [{"server_id": "a", "device": [{"device_id": "0", "rank_id": "0"}]}],
        "super_pod_list": [{"super_pod_id": "p", "server_list": [{"server_id": "a"}, {"server_id": "b"}]}],
    }
    made = substituted(table, "a", {"server_id": "c", "device": [{"device_id": "0", "rank_id": "5"}]})
    assert made["super_pod_list"] == [{"super_pod_id": "p", "server_list": [{"server_id": "c"}, {"server_id": "b"}]}]
    assert made["server_list"] == [{"server_id": "c", "device": [{"device_id": "0", "rank_id": "0"}]}]


def test_the_name_of_the_table_has_its_digest() -> None:
    text = formats.write(generate_cluster(hosts(2, [0]), version="1.0"))
    _, made = table_with(TableFile("t.json", text), [("10.0.0.1", spare_of(hosts(1, [0], first=9)[0]))])
    assert made.name == f"t-{made.sha256[:12]}.json"
