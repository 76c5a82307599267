"""Backup addresses of Atlas A3: the address of the other die of the same NPU; a wrong one is never an error."""

import json
from typing import Any

import pytest

from hccl_kit.check.engine import check_text
from hccl_kit.table.products import PRODUCTS, find_product
from tests.tables import pods_value


def found(value: Any, product: str = "a3") -> list[str]:
    report = check_text(json.dumps(value), "t.json", find_product(product))
    return [f"{found.rule} {found.severity}" for found in report.findings]


def backed(*backups: str | None, servers: int = 1) -> Any:
    """Servers of four cards with addresses A0 to A3 (B0 to B3 on the second server) and these backups, in order."""
    value = pods_value(1, servers, 4)
    devices = [device for server in value["server_list"] for device in server["device"]]
    for index, device in enumerate(devices):
        device["device_ip"] = address("AB"[index // 4] + str(index % 4))
    for device, backup in zip(devices, backups, strict=False):
        if backup is not None:
            device["backup_device_ip"] = ",".join(map(address, backup.split(",")))
    return value


def address(name: str) -> str:
    return f"192.168.{'AB'.index(name[0])}.{name[1:]}" if name[:1] in ("A", "B") else name


def test_backup_addresses() -> None:
    for value, expected in (
        (backed("A1", "A0", "A3", "A2"), []),
        (backed("A1", "A0", "A3", "A2", "B1", "B0", "B3", "B2", servers=2), []),
        (backed("A1", None, None, None), []),
        (backed("", ""), []),
        (backed(" 192.168.0.1"), ["HK314 warning"]),
        (backed("-1", "A0"), ["HK314 warning"]),
        (backed("A1,"), []),
        (backed("A1,A1"), ["HK315 warning"]),
        (backed("A1", "A0", "A1"), ["HK315 warning"]),
        (backed("A0"), ["HK316 warning"]),
        (backed("A2"), ["HK316 warning"]),
        (backed(None, "A2", "A1"), ["HK316 warning"] * 2),
        (backed("B1", servers=2), ["HK316 warning"]),
        (backed("A9"), ["HK318 note"]),
        (backed("A9", "A8", "A7"), ["HK318 note"]),
        (backed("A1,A9"), ["HK318 note"]),
        (backed("fd00::9"), ["HK318 note"]),
    ):
        assert found(value) == expected, (value, expected)


def test_unknown_backup_addresses_are_one_finding_per_table() -> None:
    (one,) = check_text(json.dumps(backed("A9", "A8", "A7")), "t.json").findings
    assert one.message == 'no device of the table has backup address "192.168.0.9"; the same holds for 2 more'


def test_ports_of_backup_and_peer_must_differ() -> None:
    for backup_port, device_port, expected in (
        ("16667", "16666", []),
        ("16666", "16666", ["HK317 warning"]),
        ("06666", "6666", ["HK317 warning"]),
        ("16666", None, []),
        (None, "16666", []),
        ("x", "16666", ["HK308 error"]),
        ("", "", ["HK308 error"] * 2),
    ):
        value = backed("A1", "A0")
        first, second = value["server_list"][0]["device"][:2]
        first.update({"backup_device_port": backup_port} if backup_port is not None else {})
        second.update({"device_port": device_port} if device_port is not None else {})
        assert found(value) == expected, (backup_port, device_port)


def test_a_backup_port_may_equal_that_of_a_device_other_than_the_peer() -> None:
    value = backed("A1", "A0", "A3", "A2")
    for device, port, backup_port in zip(
        value["server_list"][0]["device"], ("1", "2", "3", "4"), ("3", "4", "1", "2"), strict=True
    ):
        device.update(device_port=port, backup_device_port=backup_port)
    assert found(value) == []


def test_a_device_error_is_not_repeated_for_its_backup() -> None:
    good = ("A1", "A0", "A3", "A2")
    for key, wrong, rule in (
        ("device_ip", address("A3"), "HK302"),
        ("device_ip", "-1", "HK301"),
        ("device_id", "3", "HK203"),
        ("device_id", "99", "HK204"),
    ):
        value = backed(*good)
        value["server_list"][0]["device"][0][key] = wrong
        assert found(value) == [f"{rule} error"]
    value = backed(*good)
    value["server_list"][0]["device"] = []
    assert [rule for rule in found(value) if rule[:4] == "HK31"] == []


@pytest.mark.parametrize("product", [product.name for product in PRODUCTS if "1.0" in product.table_versions])
def test_only_a3_reads_backup_addresses(product: str) -> None:
    value = backed("-", "A1", "A2", "A2") | {"version": "1.0"}
    read = [one for one in found(value, product) if one != "HK118 note"]
    assert read == ([] if product != "a3" else ["HK314 warning", "HK316 warning", "HK315 warning"])
