import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.check import check_text
from hccl_kit.errors import KitError
from hccl_kit.formats import write
from hccl_kit.generate import file_name, generate
from hccl_kit.products import PRODUCTS, Product
from hccl_kit.rules.topology import nearest_legal

SERVER_IDS = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="/\\"), min_size=1, max_size=16)


READERS = [product for product in PRODUCTS if "1.0" in product.table_versions]


@given(st.data(), st.sampled_from(READERS), SERVER_IDS)
def test_rules_for_other_peoples_tables_have_nothing_against_ours(
    data: st.DataObject, product: Product, server_id: str
) -> None:
    asked = data.draw(st.sets(st.integers(min_value=0, max_value=product.max_device_id), min_size=1))
    ids = nearest_legal(tuple(asked), product) or tuple(asked)
    ips = data.draw(st.lists(st.ip_addresses(v=4), min_size=len(ids), max_size=len(ids), unique=True))
    table = generate(server_id, list(zip(ids, map(str, ips), strict=True)))
    report = check_text(write(table), file_name(table), product)
    assert [found for found in report.diagnostics if found.severity != "note"] == []
    assert report.table == table


def test_ranks_count_from_zero_in_the_order_given() -> None:
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
def test_file_name_tells_cards_and_server(server_id: str, ids: list[int], name: str) -> None:
    assert file_name(generate(server_id, [(i, None) for i in ids])) == name


@given(SERVER_IDS)
def test_file_name_is_one_that_hccl_and_every_file_system_take(server_id: str) -> None:
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


def test_longest_server_ids_are_taken() -> None:
    assert generate("x" * 64, [(0, None)]).servers[0].id == "x" * 64
    assert generate("节" * 21, [(0, None)]).servers[0].id == "节" * 21
