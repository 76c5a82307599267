"""Template 2: every count, name and list is checked, and each mistake is reported once, at its position."""

import json
from typing import Any

import pytest

from hccl_kit.check.engine import check_text
from hccl_kit.check.fix import fix_text
from hccl_kit.check.rules import RULES
from hccl_kit.table.formats import read, write
from hccl_kit.table.formats.kinds import recognise
from hccl_kit.table.model import RankTable
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import find_product
from tests.changes import at
from tests.groups import cloud, lab
from tests.work import executed_lines

GROUP: Pointer = ("group_list", 0)
INSTANCE: Pointer = ("group_list", 0, "instance_list", 1)


def changed(document: dict[str, Any], pointer: Pointer, value: Any) -> dict[str, Any]:
    at(document, pointer[:-1])[pointer[-1]] = value
    return document


def findings(document: Any) -> list[tuple[str, Pointer]]:
    found = check_text(json.dumps(document), "t.json").findings
    for one in found:
        at(document, one.pointer)  # a place of the document, or this fails
    return [(one.rule, one.pointer) for one in found]


def test_a_valid_table_has_no_finding() -> None:
    for document in (cloud(), cloud(1, 8), cloud(2, 8, 2), lab(), lab(1, 8), lab(4, 1)):
        assert findings(document) == [], document


COUNTS = pytest.mark.parametrize(
    ("form", "pointer"),
    [
        (lambda: cloud(2, 1, 2), ("group_count",)),
        (cloud, (*GROUP, "instance_count")),
        (lambda: cloud(2, 1), (*GROUP, "device_count")),
        (lambda: lab(2, 1), (*GROUP, "instance_count")),
        (lambda: lab(2, 1), (*GROUP, "device_num")),
        (lab, (*GROUP, "server_num")),
    ],
)


@pytest.mark.parametrize("declared", ["0", "1"])
@COUNTS
def test_a_wrong_count_is_reported_at_its_position_and_fixed(form: Any, pointer: Pointer, declared: str) -> None:
    document = changed(form(), pointer, declared)
    assert findings(document) == [("HK220", pointer)]
    assert json.loads(fix_text(json.dumps(document), "t.json").text) == form()


@pytest.mark.parametrize("declared", ["3", "9999999999"])
@COUNTS
def test_a_count_above_the_list_length_is_not_fixed(form: Any, pointer: Pointer, declared: str) -> None:
    document = changed(form(), pointer, declared)
    (found,) = check_text(json.dumps(document), "t.json").findings
    assert (found.rule, found.pointer, found.fix) == ("HK220", pointer, ())
    assert "if nothing is missing" in (found.hint or "")


def test_single_pods_of_eight_cards_need_no_ports() -> None:
    """HCCL ignores the addresses of a pod alone in its group, and compares ports of several servers of eight cards."""
    (found,) = check_text(json.dumps(cloud(1, 8, 2)), "t.json").findings
    assert (found.rule, found.severity, found.hccl_error) == ("HK405", "error", None)
    assert "put the pods into one group" in (found.hint or "")
    assert findings(cloud(1, 4, 2)) == []


def test_a_wrong_server_id_in_the_lab_form_is_one_finding() -> None:
    document = changed(lab(2, 8), (*INSTANCE, "server_id"), "10.0.0.9")
    assert findings(document) == [("HK401", ("group_list", 0, "instance_list", 0, "devices"))]
    at(document, GROUP)["server_num"] = "0"
    assert ("HK220", (*GROUP, "server_num")) in findings(document)


def test_a_server_in_two_groups_of_the_lab_form_is_counted_twice() -> None:
    document = lab(1, 4)
    first, second = document["group_list"][0], json.loads(json.dumps(document["group_list"][0]))
    document |= {"group_list": [first, second], "group_count": "2"}
    for group, half in ((first, slice(0, 2)), (second, slice(2, 4))):
        group |= {"instance_list": group["instance_list"][half], "instance_count": "2", "device_num": "2"}
    second["group_name"] = "second"
    assert findings(document) == [("HK220", ("group_list", 1, "server_num"))]


def test_an_empty_list_is_one_finding() -> None:
    for pointer in (("group_list",), (*GROUP, "instance_list"), ("group_list", 0, "instance_list", 1, "devices")):
        for form in (cloud, lab):
            found = [one for one in findings(changed(form(), pointer, [])) if one[0] != "HK404"]
            assert found == [("HK221", pointer)], (form, pointer)


def test_names_are_unique_over_all_groups() -> None:
    later = ("group_list", 1, "instance_list", 0, "pod_name")
    assert findings(changed(cloud(1, 1, 2), later, "pod-0-0")) == [("HK222", later)]
    report = check_text(json.dumps(changed(cloud(1, 1, 2), later, "pod-0-0")), "t.json")
    ((_, words, _),) = report.findings[0].related
    assert words == "first defined"
    for name in ("group0", ""):
        document = changed(changed(cloud(1, 1, 2), (*GROUP, "group_name"), name), ("group_list", 1, "group_name"), name)
        assert findings(document) == [("HK222", ("group_list", 1, "group_name"))]


def test_a_pod_name_is_required_and_has_at_most_127_bytes() -> None:
    for name, is_good in (("a" * 127, True), ("a" * 128, False), ("服" * 42, True), ("服" * 43, False), ("", False)):
        pod, group = (*INSTANCE, "pod_name"), (*GROUP, "group_name")
        assert findings(changed(cloud(), pod, name)) == ([] if is_good else [("HK223", pod)]), (name, is_good)
        assert findings(changed(cloud(), group, name)) == ([] if is_good or not name else [("HK223", group)]), (
            name,
            is_good,
        )


def test_missing_pod_names_are_not_duplicates() -> None:
    document = cloud(2, 1)
    for instance in document["group_list"][0]["instance_list"]:
        instance["pod_name"] = ""
    assert [rule for rule, _ in findings(document)] == ["HK223", "HK223"]


@pytest.mark.parametrize("declared", ["1", "4"])
def test_several_devices_of_one_rank_are_one_finding(declared: str) -> None:
    document = lab(1, 4)
    first, *others = document["group_list"][0]["instance_list"]
    first["devices"] += [device for instance in others for device in instance["devices"]]
    document["group_list"][0] |= {"instance_list": [first], "instance_count": "1", "device_num": declared}
    assert findings(document) == [("HK230", ("group_list", 0, "instance_list", 0, "devices"))]


@pytest.mark.parametrize(("location", "is_fixed"), [("host", False), ("", False), ("Device", True), (" device", True)])
def test_only_device_is_accepted_as_nic_location(location: str, is_fixed: bool) -> None:
    document = changed(lab(), ("para_plane_nic_location",), location)
    assert findings(document) == [("HK231", ("para_plane_nic_location",))]
    assert fix_text(json.dumps(document), "t.json").report.ok == is_fixed
    assert findings(cloud() | {"para_plane_nic_location": location}) == []


@pytest.mark.parametrize(
    ("address", "rule"),
    [("192.168.9.1,192.168.9.2", "HK232"), ("192.168.9.1,", "HK232"), ("192.168.9.1,x", "HK301"), (",", "HK301")],
)
def test_a_device_has_one_address(address: str, rule: str) -> None:
    pointer = (*INSTANCE, "devices", 0, "device_ip")
    assert findings(changed(cloud(2, 1), pointer, address)) == [(rule, pointer)]


def test_an_empty_address_is_accepted() -> None:
    assert findings(changed(cloud(2, 1), (*INSTANCE, "devices", 0, "device_ip"), "")) == []


@pytest.mark.parametrize(
    ("key", "value", "is_found"),
    [
        ("chip_info", "310", True),
        ("chip_info", "910", False),
        ("para_plane_nic_num", "0", True),
        ("board_id", "x", False),
    ],
)
def test_an_obsolete_key_is_a_note(key: str, value: str, is_found: bool) -> None:
    document = lab() | {key: value}
    assert findings(document) == ([("HK233", (key,))] if is_found else [])
    assert check_text(json.dumps(document), "t.json").ok
    del document[key], document["para_plane_nic_name"]
    assert findings(document) == []


def test_ranks_of_the_lab_form_are_checked_at_the_instance() -> None:
    rank = (*INSTANCE, "rank_id")
    assert findings(changed(lab(), rank, "0")) == [("HK201", rank)]
    document = changed(lab(), rank, "7")
    assert findings(document) == [("HK202", rank)]
    fixed = json.loads(fix_text(json.dumps(document), "t.json").text)
    assert sorted(one["rank_id"] for one in fixed["group_list"][0]["instance_list"]) == ["0", "1", "2", "3"]


def test_the_rules_of_910_apply() -> None:
    document = changed(cloud(1, 2), ("group_list", 0, "instance_list", 0, "devices", 1, "device_id"), "0")
    assert [rule for rule, _ in findings(document)] == ["HK203"]
    beyond = (*INSTANCE, "devices", 0, "device_id")
    assert findings(changed(cloud(2, 1), beyond, "8")) == [("HK204", beyond)]
    (found,) = check_text(json.dumps(cloud(1, 3)), "t.json").findings
    assert (found.rule, found.pointer) == ("HK401", ("group_list", 0, "instance_list", 0, "devices"))
    assert [found.rule for found in check_text(json.dumps(lab()), "t.json", find_product("a2")).findings] == ["HK108"]


@pytest.mark.parametrize(("form", "cards"), [(cloud, 8), (cloud, 1), (lab, 8)], ids=["nodes", "pods", "ranks"])
def test_the_work_on_a_valid_table_grows_no_faster_than_the_table(form: Any, cards: int) -> None:
    product = find_product("910")
    tables = []
    for pods in (64, 128):
        document = form(pods, cards)
        kind = recognise(document)
        assert kind is not None
        table = read(document, kind)
        assert isinstance(table, RankTable)
        assert len(table.every) == pods * cards
        tables.append(table)
    for rule in RULES:
        if rule.check and rule.kinds == ("template2",):
            half, whole = (executed_lines(rule.check, table, product) for table in tables)
            assert 0 < whole <= 2 * half, rule.id


def test_a_server_id_has_1_to_64_bytes() -> None:
    for name, told in (("", "is empty"), ("s" * 65, "has 65 bytes")):
        for form in (cloud, lab):
            document = changed(form(2, 1), (*INSTANCE, "server_id"), name)
            assert findings(document) == [("HK206", (*INSTANCE, "server_id"))], (form, name)
            (found,) = check_text(json.dumps(document), "t.json").findings
            assert told in found.message, (form, name)
            assert found.hccl_error is None, (form, name)


def test_the_addresses_of_a_pod_alone_in_its_group_are_not_checked() -> None:
    texts: list[Any] = ["", "x", " 20.0.0.1", "20.0.0.0", "fd00::1", "20.0.0.8,20.0.0.9", "0.0.0.0", 5, None, []]
    for unread in texts:
        device: Pointer = ("group_list", 1, "instance_list", 0, "devices", 1, "device_ip")
        document = changed(cloud(1, 2, 2), device, unread)
        assert findings(document) == [], unread
        table = read(document, recognise(document))  # type: ignore[arg-type]  # it is template 2
        assert isinstance(table, RankTable), unread
        assert json.loads(write(table)) == document, unread  # keys that are not read are kept


def test_the_addresses_of_several_pods_in_a_group_are_checked() -> None:
    device: Pointer = (*INSTANCE, "devices", 0, "device_ip")
    assert findings(changed(cloud(2, 2), device, "x")) == [("HK301", device)]
    assert findings(changed(cloud(2, 2), device, 5)) == [("HK102", device)]


def test_obsolete_keys_may_have_any_value() -> None:
    values: list[Any] = [5, None, [], {}]
    for unread in values:
        for key in ("chip_info", "board_id", "para_plane_nic_num"):
            document = changed(lab(), (key,), unread)
            assert {rule for rule, _ in findings(document)} <= {"HK233"}, (key, unread)


@pytest.mark.parametrize(
    ("pointer", "count"), [(("group_count",), "x"), ((*GROUP, "instance_count"), "-"), ((*GROUP, "device_count"), "x1")]
)
def test_a_count_that_is_not_a_number_has_no_hccl_code(pointer: Pointer, count: str) -> None:
    (found,) = check_text(json.dumps(changed(cloud(), pointer, count)), "t.json").findings
    assert (found.rule, found.hccl_error) == ("HK103", None)
