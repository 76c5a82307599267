"""SDIDs: unique in a super pod, required if there is one, and with the layout of real machines."""

import json
from typing import Any

import pytest

from hccl_kit.check.engine import check_text
from hccl_kit.table.finding import Finding
from hccl_kit.table.products import find_product
from tests.tables import pods_value, sdid


def found(value: Any) -> list[str]:
    return [f"{found.rule} {found.severity}" for found in diagnostics(value)]


def diagnostics(value: Any) -> tuple[Finding, ...]:
    return check_text(json.dumps(value), "t.json").findings


def with_sdids(*sdids: int | None, pods: int = 1, servers: int = 1, cards: int = 2) -> Any:
    """A table whose devices have these SDIDs, in the order of the document; None leaves the key out."""
    value = pods_value(pods, servers, cards)
    devices = [device for server in value["server_list"] for device in server["device"]]
    for device, number in zip(devices, sdids, strict=True):
        device.pop("super_device_id")
        if number is not None:
            device["super_device_id"] = str(number)
    return value


NONE = 2**32 - 1


def test_sdids_of_a_super_pod() -> None:
    for value, expected in (
        (with_sdids(0, 1), []),
        (with_sdids(0, 65535), []),
        (with_sdids(0, None), ["HK216 error"]),
        (with_sdids(None, None), ["HK216 error"]),
        (with_sdids(None, 1, None, 3, servers=2), ["HK216 error"] * 2),
        (with_sdids(0, NONE), ["HK216 error"]),
        (with_sdids(0, 9999999999), ["HK216 error"]),
        (with_sdids(0, NONE - 1), ["HK219 note"]),
        (with_sdids(7, 7), ["HK217 error"]),
        (with_sdids(7, 7, 7, 7, servers=2), ["HK217 error"] * 3),
        (with_sdids(7, 8, 8, 7, servers=2), ["HK217 error"] * 2),
        (with_sdids(7, 8, 7, 8, pods=2), []),
        (with_sdids(7, 7, 7, 8, pods=2), ["HK217 error"]),
        (with_sdids(NONE, NONE), ["HK216 error"]),
        (with_sdids(sdid(9, 1), sdid(9, 0)), ["HK219 note"]),
        (with_sdids(sdid(9, 0), sdid(9, 0)), ["HK217 error"]),
        (with_sdids(sdid(1023, 0), sdid(1022, 1)), []),
    ):
        assert found(value) == expected, (value, expected)


def test_a_table_without_super_pods_may_omit_or_repeat_sdids() -> None:
    for value in (with_sdids(None, 0), with_sdids(7, 7), with_sdids(NONE, NONE)):
        del value["super_pod_list"]
        assert found(value) == []


def test_a_duplicate_sdid_is_reported_once_with_the_first_one() -> None:
    (one,) = diagnostics(with_sdids(sdid(0, 0), sdid(0, 1), sdid(0, 1), sdid(1, 1), servers=2))
    assert one.pointer == ("server_list", 1, "device", 0, "super_device_id")
    assert [message for _, message, _ in one.related] == ["first defined"]


def test_sdids_of_other_devices_are_one_finding_that_names_the_device() -> None:
    (one,) = diagnostics(with_sdids(sdid(0, 15), 65536 + 7, sdid(1, 0), sdid(1, 0) + 2, servers=2))
    assert one.message == (
        f'"super_device_id" {sdid(0, 15)} has the form of device 15, and this is device 0; the same holds for 2 more'
    )
    (one,) = diagnostics(with_sdids(sdid(0, 0), 65536 + 7))
    assert one.message == '"super_device_id" 65543 has another form, and this is device 1'


@pytest.mark.parametrize(("card", "rule"), [("0", "HK203"), ("16", "HK204")])
def test_a_wrong_device_id_is_not_reported_as_a_wrong_sdid(card: str, rule: str) -> None:
    value = pods_value(1, 1, 4)
    value["server_list"][0]["device"][3]["device_id"] = card
    assert found(value) == [f"{rule} error"]


def test_other_products_do_not_check_sdids() -> None:
    report = check_text(json.dumps(with_sdids(sdid(0, 15), None)), "t.json", find_product("a2"))
    assert [found.rule for found in report.findings] == ["HK111"]


def test_rejects_an_sdid_above_32_bits_on_any_product() -> None:
    for product in ("910", "a2", "a3"):
        table = pods_value(1, 1, 2)
        if product == "a3":
            del table["super_pod_list"]
        for written, expected in ((str(2**32 - 1), None), (str(2**32), "EI0014")):
            table["server_list"][0]["device"][1]["super_device_id"] = written
            report = check_text(json.dumps(table), "t.json", find_product(product))
            assert (report.ok, report.hccl_error) == (expected is None, expected), product
