"""Typos in keys: one finding per table, and none for the keys of other programs."""

import json
from typing import Any

import pytest

from hccl_kit.check.engine import check_text
from hccl_kit.check.fix import fix_text
from hccl_kit.check.rules.keys import misspelt_key
from hccl_kit.check.selection import narrowed
from hccl_kit.table.formats import read
from hccl_kit.table.formats.kinds import SERVER_LIST
from hccl_kit.table.model import Address, Device, Level, RankTable, Server
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import PRODUCTS, find_product
from tests.tables import pods_value, value
from tests.work import executed_lines


def notes(document: Any) -> list[tuple[str, str, str | None]]:
    return [(found.rule, found.message, found.hint) for found in check_text(json.dumps(document), "t.json").findings]


def renamed(document: Any, old: str, new: str) -> Any:
    return json.loads(json.dumps(document).replace(f'"{old}"', f'"{new}"'))


def test_a_typo_on_every_device_is_one_note() -> None:
    message = '"devcie_ip" is not a key HCCL knows, in 8 places; it is ignored'
    assert notes(renamed(value(), "device_ip", "devcie_ip")) == [("HK117", message, 'did you mean "device_ip"?')]


@pytest.mark.parametrize(("old", "new"), [("server_count", "sever_count"), ("server_count", "serverCount")])
def test_a_typo_in_a_key_of_the_table(old: str, new: str) -> None:
    message = f'"{new}" is not a key HCCL knows; it is ignored'
    assert notes(renamed(value(), old, new)) == [("HK117", message, f'did you mean "{old}"?')]


def test_the_key_is_marked_and_not_the_value() -> None:
    text = json.dumps(renamed(value(1, 1), "server_count", "sever_count"))
    (found,) = check_text(text, "t.json").findings
    assert text[found.span.column - 1 :][: found.span.width] == '"sever_count"'


def test_missing_addresses_of_several_servers_name_the_misspelled_key() -> None:
    found = notes(renamed(value(2, 2), "device_ip", "devcie_ip"))
    assert [rule for rule, _, _ in found] == ["HK305", "HK305"]
    assert {hint for _, _, hint in found} == {'did you mean "device_ip" by "devcie_ip"?'}


def test_a_misspelled_sdid_is_reported_with_the_missing_sdid() -> None:
    found = notes(renamed(pods_value(1, 2, 2), "super_device_id", "super_deivce_id"))
    assert [rule for rule, _, _ in found] == ["HK216", "HK216"]
    assert {hint for _, _, hint in found} == {'did you mean "super_device_id" by "super_deivce_id"?'}


@pytest.mark.parametrize("key", ["device_ip", "super_device_id"])
def test_a_misspelled_required_key_is_fixed(key: str) -> None:
    good = json.dumps(pods_value(1, 2, 2))
    outcome = fix_text(good.replace(f'"{key}"', f'"{key}s"'), "t.json")
    assert (outcome.text, outcome.report.findings) == (good, ())


@pytest.mark.parametrize(("key", "value"), [("device_ip", None), ("device_ip", 7), ("super_device_id", "x")])
def test_a_misspelled_key_with_an_invalid_value_is_not_fixed(key: str, value: Any) -> None:
    document = renamed(pods_value(1, 2, 2), key, key + "s")
    document["server_list"][0]["device"][0][key + "s"] = value
    before = document["server_list"][0]
    after = json.loads(fix_text(json.dumps(document), "t.json").text)["server_list"]
    assert after[0] == before
    assert key in after[1]["device"][0]


def test_a_similar_key_is_not_a_typo_if_the_real_one_is_present() -> None:
    document = value()
    document["server_list"][0]["device"][0] |= {"device_ips": "x"}
    document |= {"server_counts": "1"}
    assert notes(document) == []


def test_keys_of_other_programs_are_not_typos() -> None:
    for key in (
        *("host_nic_ip", "container_ip", "hardware_type", "pod_ip", "server_ip", "dpu_ip", "numa_id", "cluster_list"),
        *("IsMindIEEPJob", "device_type", "device_logical_id", "x" * 1000, ""),
    ):
        document = renamed(value(), "device_ip", "numa_id")  # without it, device_ip would be absent for all
        del document["server_count"]
        for place in (document, document["server_list"][0], *document["server_list"][0]["device"]):
            place[key] = "x"
        assert notes(document) == [], key


@pytest.mark.parametrize("product", ["910", "a2", "a3", None])
def test_a_key_of_version_1_2_in_a_table_of_1_0_is_a_note(product: str | None) -> None:
    document = pods_value(1, 2, 8) | {"version": "1.0"}
    for strict in (False, True):
        report = check_text(json.dumps(document), "t.json", find_product(product) if product else None)
        report = narrowed(report, strict=strict)
        assert [(found.rule, found.severity) for found in report.findings] == [("HK118", "note")] * 2
        pods, sdids = sorted((found.message for found in report.findings), reverse=True)
        assert pods == 'version 1.0 ignores "super_pod_list", which HCCL reads in version 1.2 only'
        assert sdids == 'version 1.0 ignores "super_device_id", which HCCL reads in version 1.2 only, in 16 places'
    (found,) = check_text(json.dumps(value(1, 8) | {"super_pod_list": []}), "t.json").findings
    assert found.rule == "HK118"


def pointers(table: RankTable) -> list[Pointer]:
    return [found.pointer for found in misspelt_key(table, PRODUCTS[0])]


def test_every_object_of_version_2_is_searched() -> None:
    address = Address("EID", "0" * 32, ("0/1",), {"plain_id": "0", "plane_idd": "0"})
    levels = (Level(0, "a", ()), Level(1, "b", (address,), extra={"net_tpye": "CLOS"}))
    rank = Device(0, None, 0, local_id=0, levels=levels, extra={"replaced_loacl_id": 0}, at=("rank_list", 0))
    table = RankTable("2.0", "", (Server("a", (rank, rank)),), extra={"staus": "completed"})
    assert pointers(table) == [
        ("staus",),
        ("rank_list", 0, "replaced_loacl_id"),
        ("rank_list", 0, "level_list", 1, "net_tpye"),
        ("rank_list", 0, "level_list", 1, "rank_addr_list", 0, "plane_idd"),
    ]
    ready = table._replace(status="completed", servers=())
    assert pointers(ready) == []


def test_a_typo_that_moves_a_rank_of_version_1_1_to_the_cpu() -> None:
    at = ("node_list", 0, "ranks", 0)
    typo = Device(-1, "10.0.0.1", 0, extra={"devcie_id": "0"}, at=at)
    meant = Device(-1, "10.0.0.1", 0, extra={"devcie_id": "0", "device_id": "-1"}, at=at)
    found = [pointers(RankTable("1.1", "completed", (Server("10.0.0.1", (device,)),))) for device in (typo, meant)]
    assert found == [[(*at, "devcie_id")], []]


def test_a_typo_in_template_2() -> None:
    device = Device(0, None, 0, extra={"device-ip": "10.0.0.1"}, at=("group_list", 0))
    table = RankTable("", "completed", (Server("a", (device,)),), extra={"chipinfo": "910"})
    assert pointers(table) == [("chipinfo",), ("group_list", 0, "device-ip")]


@pytest.mark.parametrize("extra", [{}, {"numa_id": "0", "colour": "red"}, {str(n): n for n in range(20)}])
def test_the_work_grows_no_faster_than_the_table(extra: dict[str, Any]) -> None:
    work = []
    for cards in (1_000, 2_000):
        document = value(1, 8)
        server = document["server_list"][0]
        server["device"] = [{"device_id": "0", "device_ip": "1", "rank_id": "0", **extra}] * cards
        table = read(document, SERVER_LIST)
        assert isinstance(table, RankTable)
        assert len(table.every) == cards
        assert [*misspelt_key(table, PRODUCTS[0])] == []
        work.append(executed_lines(misspelt_key, table, PRODUCTS[0]))
    assert 0 < work[1] <= 2 * work[0]
