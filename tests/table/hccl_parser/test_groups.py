"""The first error of HCCL's parser in template 2 (topoinfo_ranktableStandard.cc)."""

from typing import Any

from hypothesis import given

from hccl_kit.table.hccl_parser.first_error import first_error
from hccl_kit.table.products import find_product
from tests.changes import changed, cut, put
from tests.groups import cloud, lab
from tests.tables import json_values

ON_910 = find_product("910")
NONE, MISSING, INVALID = "", "EI0017", "EI0014"
GROUP = ("group_list", 0)
INSTANCE = (*GROUP, "instance_list", 1)
DEVICE = (*INSTANCE, "devices", 0)


def code_of(table: Any) -> str:
    """The code of a table that HCCL refuses."""
    code = first_error(table, ON_910)
    return "accepted" if code is None else code


def test_a_valid_table_is_accepted() -> None:
    for table in (
        cloud(),
        cloud(1, 8),
        cloud(2, 8, 2),
        lab(),
        lab(1, 8),
        lab(4, 1),
    ):
        assert first_error(table, ON_910) is None, table


def test_an_error_has_its_code() -> None:
    for change, code in (
        (cut("group_count"), MISSING),
        (put("group_count", 1), MISSING),
        (put("group_count", "x"), NONE),
        (put("group_count", "2"), NONE),
        (cut("group_list"), NONE),
        (put("group_list", {}), NONE),
        (put("group_list", "x"), NONE),
        (put(*GROUP, []), MISSING),
        (cut(*GROUP, "group_name"), MISSING),
        (put(*GROUP, "group_name", "n" * 128), NONE),
        (put(*GROUP, "instance_count", "0"), NONE),
        (put(*GROUP, "instance_count", "3"), NONE),
        (cut(*GROUP, "instance_list"), NONE),
        (put(*GROUP, "instance_list", 5), NONE),
        (put(*INSTANCE, 5), MISSING),
        (put(*INSTANCE, "server_id", ""), NONE),
        (put(*INSTANCE, "server_id", "s" * 65), NONE),
        (cut(*INSTANCE, "server_id"), MISSING),
        (cut(*INSTANCE, "devices"), NONE),
        (put(*INSTANCE, "devices", []), NONE),
        (put(*INSTANCE, "devices", "x"), NONE),
        (cut(*DEVICE, "device_id"), MISSING),
        (put(*DEVICE, "device_id", "x"), NONE),
        (put(*DEVICE, "device_id", "8"), NONE),
        (cut(*DEVICE, "device_ip"), MISSING),
        (put(*DEVICE, "device_ip", "x"), INVALID),
        (put(*DEVICE, "device_ip", "0.0.0.0"), INVALID),
        (put(*DEVICE, "device_ip", "20.0.0.0"), INVALID),
        (put(*DEVICE, "device_ip", "fd00::1"), "EI0001"),
    ):
        for form in (
            cloud,
            lab,
        ):
            assert code_of(changed(form(), change)) == code, (form, change)


def test_an_error_of_one_form_has_its_code() -> None:
    for table, code in (
        (changed(cloud(), cut(*INSTANCE, "pod_name")), MISSING),
        (changed(cloud(), put(*INSTANCE, "pod_name", "pod-0-0")), INVALID),
        (changed(cloud(), put(*INSTANCE, "pod_name", "")), INVALID),
        (changed(cloud(), put(*GROUP, "device_count", "0")), NONE),
        (changed(cloud(2, 2, 2), put("group_list", 1, "group_name", "group0")), INVALID),
        (changed(cloud(), put(*DEVICE, "device_id", "1")), INVALID),
        (changed(lab(), cut("para_plane_nic_location")), MISSING),
        (changed(lab(), put("para_plane_nic_location", "host")), NONE),
        (changed(lab(), put(*GROUP, "server_num", "3")), NONE),
        (changed(lab(), put(*GROUP, "server_num", "1")), INVALID),
        (changed(lab(), put(*INSTANCE, "rank_id", "x")), INVALID),
        (changed(lab(), put(*INSTANCE, "rank_id", "0")), INVALID),
    ):
        assert code_of(table) == code, (table, code)


def test_the_addresses_of_a_pod_alone_in_its_group_are_not_read() -> None:
    one = (*GROUP, "instance_list", 0, "devices")
    for changes in ([cut(*one, 0, "device_ip")], [put(*one, 0, "device_ip", 7)], [put(*one, 0, "device_ip", "x")]):
        assert first_error(changed(cloud(1, 2), *changes), ON_910) is None


def test_of_two_errors_the_one_that_is_read_first_has_its_code() -> None:
    for form in (
        cloud,
        lab,
    ):
        table = changed(form(), put(*DEVICE, "device_ip", "x"), put("group_list", 0, "instance_list", 0, "devices", []))
        assert code_of(table) == NONE, form  # the devices come before those of the next instance
        assert code_of(changed(table, put("group_count", 1))) == MISSING, form


@given(json_values)
def test_any_document_can_be_parsed(document: Any) -> None:
    for form in (cloud, lab):
        first_error({"status": "completed", "group_list": document, "group_count": "1"}, ON_910)
        first_error(changed(form(), put(*GROUP, "instance_list", document)), ON_910)
        first_error(changed(form(), put(*INSTANCE, "devices", document)), ON_910)


def test_the_parser_does_not_depend_on_the_product() -> None:
    for product in (
        "a2",
        "a3",
        "300i-duo",
    ):
        assert first_error(cloud(), find_product(product)) is None, product
        assert first_error(changed(cloud(), cut("group_count")), find_product(product)) == MISSING, product


def test_an_empty_version_is_not_treated_as_absent() -> None:
    assert first_error(cloud() | {"version": ""}, ON_910) == INVALID
