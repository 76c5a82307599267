import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.check.engine import check_text
from hccl_kit.check.rules.topology import nearest_supported
from hccl_kit.table.formats import write
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.ip import reserved_range
from hccl_kit.table.model import Address, Level
from hccl_kit.table.operations.generate import choose_version, file_name, generate, generate_cluster
from hccl_kit.table.products import PRODUCTS, Product, find_product

SERVER_IDS = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="/\\"), min_size=1, max_size=16)

ADDRESSES = st.ip_addresses(v=4).filter(lambda address: not (address.is_unspecified or reserved_range(str(address))))
"""0.0.0.0 stands for no address, and no network has those of documentation (HK322)."""

READERS = [product for product in PRODUCTS if "1.0" in product.table_versions]


@given(st.data(), st.sampled_from(READERS), SERVER_IDS)
def test_generated_tables_have_no_finding(data: st.DataObject, product: Product, server_id: str) -> None:
    asked = data.draw(st.sets(st.integers(min_value=0, max_value=product.max_device_id), min_size=1))
    ids = nearest_supported(tuple(asked), product) or tuple(asked)
    ips = data.draw(st.lists(ADDRESSES, min_size=len(ids), max_size=len(ids), unique=True))
    table = generate(server_id, list(zip(ids, map(str, ips), strict=True)))
    report = check_text(write(table), file_name(table), product)
    assert [found for found in report.findings if found.severity != "note"] == []
    assert report.table == table


def test_ranks_are_consecutive_from_zero_in_the_given_order() -> None:
    table = generate("10.0.0.1", [(6, "192.168.102.100"), (4, "192.168.100.100")])
    (server,) = table.servers
    assert [(device.rank, device.id, device.ip) for device in server.devices] == [
        (0, 6, "192.168.102.100"),
        (1, 4, "192.168.100.100"),
    ]
    assert (table.version, table.status, table.declared_servers) == ("1.0", "completed", 1)
    assert (server.id, server.extra) == ("10.0.0.1", {"host_nic_ip": "reserve"})


@pytest.mark.parametrize(
    ("server_id", "ids", "name"),
    [
        ("127.0.0.1", range(8), "hccl_8p_01234567_127.0.0.1.json"),
        ("10.0.0.1", range(4, 8), "hccl_4p_4567_10.0.0.1.json"),
        ("fd00::1", [0], "hccl_1p_0_fd00--1.json"),
        ("node-7.lab", [8, 9, 10, 11], "hccl_4p_891011_node-7.lab.json"),
        ("a.json.b", [0], "hccl_1p_0_a-json.b.json"),
        ("a'$(reboot)", [0], "hccl_1p_0_a---reboot-.json"),
        ("节点1", [0], "hccl_1p_0_节点1.json"),
    ],
)
def test_file_name_has_cards_and_server(server_id: str, ids: list[int], name: str) -> None:
    assert file_name(generate(server_id, [(i, None) for i in ids])) == name


@given(SERVER_IDS)
def test_the_file_name_is_valid_for_hccl_and_every_file_system(server_id: str) -> None:
    name = file_name(generate(server_id, [(i, None) for i in range(32)]))
    assert re.fullmatch(r"hccl_32p_[0-9]+_[\w.-]+\.json", name)
    assert name.index(".json") == len(name) - len(".json")
    assert len(name.encode()) <= 255


@pytest.mark.parametrize(
    ("server_id", "message"),
    [
        ("", "is empty"),
        ("a b", r"'a b' contains ' '"),
        ("../x", r"contains '/'"),
        ("a\\b", r"contains '\\\\'"),
        ("a\nb", r"contains '\\n'"),
        ("a\u3000b", "contains"),
        ("a\u202eb", "contains"),
        ("a\udcffb", "contains"),
        ("x" * 65, "longer than 64 bytes"),
        ("节" * 22, "longer than 64 bytes"),
    ],
)
def test_server_id_that_cannot_be_a_file_name_is_refused(server_id: str, message: str) -> None:
    with pytest.raises(KitError, match=message):
        generate(server_id, [(0, "10.0.0.1")])


@pytest.mark.parametrize("name", ["", "a b", "eth0;id", "\x1b[31m", "e" * 16])
def test_an_address_with_an_invalid_interface_name_is_refused(name: str) -> None:
    address = f"fe80::1%{name}"
    level = Level(0, "net", (Address("IPV6", address, ("0/1",)),))
    for card, version in ((Card(address), "1.0"), (Card(local_id=0, levels=(level,)), "2.0")):
        with pytest.raises(KitError, match=re.escape(repr(name))) as refused:
            generate_cluster([Host("a", {0: card})], version=version)
        assert str(refused.value).isprintable()


def test_a_server_id_with_an_invalid_interface_name_is_refused() -> None:
    generate("fe80::1%eth0", [(0, "fe80::1%bond0.12")])
    with pytest.raises(KitError, match="'eth0;id'"):
        generate("fe80::1%eth0;id", [(0, None)])


def test_server_ids_of_maximum_length_are_accepted() -> None:
    assert generate("x" * 64, [(0, None)]).servers[0].id == "x" * 64
    assert generate("节" * 21, [(0, None)]).servers[0].id == "节" * 21


def hosts(count: int, cards: int, sdid: int | None = None) -> list[Host]:
    """Servers whose card i has an address in segment 10.i; all cards have the same SDID, if any."""
    return [
        Host(f"node{s}", {i: Card(f"10.{i}.{s >> 8}.{s & 255}", sdid=sdid) for i in range(cards)}) for s in range(count)
    ]


def in_pods(count: int, cards: int, per_pod: int) -> list[Host]:
    return [
        Host(
            f"node{s}",
            {i: Card(f"10.{i}.0.{s}", sdid=s % per_pod << 22 | i // 2 << 18 | i % 2 << 16 | i) for i in range(cards)},
            host_ip=f"172.16.0.{s}",
            super_pod=f"pod{s // per_pod}",
        )
        for s in range(count)
    ]


@given(st.integers(2, 5), st.sampled_from([1, 2, 4, 8]), st.sampled_from(READERS))
def test_generated_tables_of_many_servers_have_no_finding(count: int, cards: int, product: Product) -> None:
    table = generate_cluster(hosts(count, cards), version="1.0")
    report = check_text(write(table), file_name(table), product)
    assert [found for found in report.findings if found.severity != "note"] == []
    assert report.table == table
    assert [device.rank for device in table.every] == list(range(count * cards))


@given(st.integers(1, 5), st.integers(1, 16), st.integers(1, 3))
def test_generated_tables_of_super_pods_have_no_finding(count: int, cards: int, per_pod: int) -> None:
    servers = in_pods(count, cards, per_pod)
    product = find_product("a3")
    assert choose_version(servers, product) == "1.2"
    table = generate_cluster(servers, version="1.2")
    report = check_text(write(table), file_name(table), product)
    assert [found for found in report.findings if found.severity != "note"] == []
    assert report.table == table
    assert [server.extra for server in table.servers] == [{"host_ip": f"172.16.0.{s}"} for s in range(count)]


def test_servers_of_version_2_are_the_innermost_networks() -> None:
    def card(network: str, i: int) -> Card:
        outer = Level(1, "all", (Address("IPV4", f"10.0.0.{i}", ("0/1",)),))
        return Card(local_id=i, levels=(Level(0, network, ()), outer))

    servers = [Host(name, {i: card(network, i) for i in range(2)}) for name, network in zip("abc", "xyx", strict=True)]
    assert choose_version(servers, find_product("a5")) == "2.0"
    table = generate_cluster(servers, version="2.0")
    assert [(server.id, [device.rank for device in server.devices]) for server in table.servers] == [
        ("x", [0, 1, 4, 5]),
        ("y", [2, 3]),
    ]
    assert (table.version, table.declared_ranks, table.declared_servers) == ("2.0", 6, None)
    assert {device.ip for device in table.every} == {None}


def test_a_network_with_a_long_name_gives_a_short_file_name() -> None:
    server = Host("a", {0: Card(local_id=0, levels=(Level(0, "节" * 300, ()),))})
    assert len(file_name(generate_cluster([server], version="2.0")).encode()) < 100


def test_the_version_follows_from_product_and_facts() -> None:
    a3 = find_product("a3")
    assert choose_version(hosts(2, 2), a3) == "1.0"
    assert choose_version(in_pods(2, 2, 1), a3, "1.0") == "1.0"
    assert choose_version(in_pods(2, 2, 1), find_product("910")) == "1.0"
    for broken in (hosts(2, 2, sdid=1), [Host("a", hosts(1, 2)[0].cards, super_pod="x")]):
        with pytest.raises(KitError, match=r"version 1\.2 needs the super pod of every server and the SDID"):
            choose_version(broken, a3)
    with pytest.raises(KitError, match=r"version 2\.0 needs .* unknown:\n    node0, card 0\n    node0, card 1$"):
        choose_version(hosts(1, 2), find_product("a5"))


@pytest.mark.parametrize(
    ("count", "per_pod", "version", "ok"),
    [(1, 1, "1.0", True), (1, 1, "1.2", True), (3, 3, "1.2", True), (3, 2, "1.2", False), (3, 3, "1.0", False)],
)
def test_vnic_addresses_are_limited_to_one_server_or_super_pod(
    count: int, per_pod: int, version: str, ok: bool
) -> None:
    servers = [
        Host(host.id, {i: card._replace(on_vnic=True) for i, card in host.cards.items()}, super_pod=host.super_pod)
        for host in in_pods(count, 2, per_pod)
    ]
    if ok:
        assert choose_version(servers, find_product("a3"), version) == version
    else:
        with pytest.raises(KitError, match="have no RoCE address:\n    node0, card 0\n"):
            choose_version(servers, find_product("a3"), version)


@pytest.mark.parametrize("ids", [[-1], [1.5], [True], [0, 1, 0]])
def test_invalid_or_duplicate_card_ids_are_refused(ids: list[int]) -> None:
    with pytest.raises(KitError, match="is not the physical id of one card"):
        generate("10.0.0.1", [(i, None) for i in ids])
