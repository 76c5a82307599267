"""The published schemas of rank tables: described, consistent with the readers, and clear about each error."""

import random
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hccl_kit.base import schemas
from hccl_kit.table import schema
from hccl_kit.table.finding import MAX_FINDINGS
from hccl_kit.table.formats import READERS, read, to_value
from hccl_kit.table.formats.kinds import (
    NODE_LIST,
    RANK_LIST,
    SERVER_LIST,
    SUPER_PODS,
    TEMPLATE_2,
    TEMPLATE_2_LAB,
    Kind,
    recognise,
)
from hccl_kit.table.formats.server_list import DEVICE_TEXTS, SERVER_TEXTS
from hccl_kit.table.formats.shape import StructureError
from hccl_kit.table.model import RankTable
from hccl_kit.table.pointer import Pointer
from tests.changes import altered, at, changed, cut, leaves, places, put
from tests.groups import cloud, lab, nodes
from tests.table.formats.test_rank_list import FULL
from tests.tables import json_values, pod_tables, pods_value, ranks_value, tables, value

GOOD: dict[Kind, Any] = {
    SERVER_LIST: value(2, 2),
    SUPER_PODS: pods_value(2, 1, 2),
    NODE_LIST: nodes(),
    RANK_LIST: FULL,
    TEMPLATE_2: cloud(),
    TEMPLATE_2_LAB: lab(),
}
"""A valid document of each kind."""
NUMBERS = ["1.0", "1.1", "0", "00", "7\n", " 7", "+7", "-1", "٣", "99999999999", "", "completed"]
WORDS = [-1, 0, 7, 8, 63, 64, 65, 65535, 65536, 65537, "1", "EID", "IPV5", "CLOS", "true", "x" * 33]
VALUES = ["1.0", "0", "-1", "", 1, 1.0, True, None, [], [0], {}, "y" * 1025]
OF_RANKS = [*VALUES, *WORDS, "y" * 300, [1] * 25, ["0/1"] * 17]
"""Values at the limits of version 2.0, which has numbers and words, unlike the others."""
KEYS = ["host_ip", "device_port", "host_port", "net_protocol", "server_count", "pod_ip", "deploy_mode", "version"]
KEYS += ["device_ip", "chip_info", "board_id", "para_plane_nic_num", "mode", "heterog_sub_version", "port", "detour"]
UNREAD = {"host_nic_ip", "deploy_mode", "para_plane_nic_name", "chip_info", "board_id", "para_plane_nic_num"}

DEVICE = ("server_list", 0, "device", 1)
POD = ("super_pod_list", 0)


def accepts(document: Any, kind: Kind) -> bool:
    """Whether the reader accepts the document; asserts that the schema agrees."""
    try:
        READERS[str(kind.version)](document)
    except StructureError:
        accepted = False
    else:
        accepted = True
    assert accepted == (not list(schema.findings(document, kind.schema))), document
    return accepted


def is_of(kind: Kind, document: Any) -> bool:
    """Whether the document has not become one of the other version that has the same reader."""
    others = {SERVER_LIST: "1.2", SUPER_PODS: "1.0"}
    return not (isinstance(document, dict) and document.get("version") == others.get(kind, kind))


def test_a_schema_describes_every_key_and_accepts_a_good_document() -> None:
    for kind, document in GOOD.items():
        loaded = schemas.load(kind.schema)
        Draft202012Validator.check_schema(loaded)
        for part in (loaded, *loaded["$defs"].values()):
            assert part["description"], kind
            for name, field in part.get("properties", {}).items():
                assert "description" in field or "$ref" in field, (kind, name)
        assert recognise(document) is kind
        assert accepts(document, kind)


def test_version_1_2_has_the_keys_of_version_1_0_and_four_more() -> None:
    first, second = schemas.load("rank_table_1.0"), schemas.load("rank_table_1.2")
    assert set(second["properties"]) - set(first["properties"]) == {"super_pod_list"}
    assert set(second["$defs"]) - set(first["$defs"]) == {"super_pod", "pod_server"}
    assert set(second["$defs"]["device"]["properties"]) - set(first["$defs"]["device"]["properties"]) == {
        "super_device_id"
    }
    for part, rules in first["$defs"].items():
        assert set(rules.get("properties", {})) <= set(second["$defs"][part].get("properties", {}))
        assert rules.get("required") == second["$defs"][part].get("required")


@given(
    st.sampled_from([*GOOD]), st.randoms(use_true_random=False), json_values | st.sampled_from([*NUMBERS, *OF_RANKS])
)
def test_schema_and_reader_agree(kind: Kind, chance: random.Random, replacement: Any) -> None:
    document = altered(GOOD[kind], chance, KEYS, replacement)
    for one in (document, replacement):
        if is_of(kind, one):
            accepts(one, kind)


def test_schema_and_reader_agree_on_every_field() -> None:
    for kind, good in GOOD.items():
        fields = {tuple(part for part in pointer if isinstance(part, str)): pointer for pointer in places(good)}
        for pointer, replacement in product(fields.values(), OF_RANKS if kind is RANK_LIST else VALUES):
            document = changed(good, put(*pointer, replacement))
            if is_of(kind, document):
                accepts(document, kind)


@given(tables | pod_tables)
def test_every_written_table_is_valid(table: RankTable) -> None:
    assert accepts(to_value(table), SUPER_PODS if table.version == "1.2" else SERVER_LIST)


def test_a_number_is_a_string_of_digits() -> None:
    devices = {SERVER_LIST: ("device_id", "rank_id"), SUPER_PODS: ("device_id", "super_device_id")}
    fields = [(kind, (*DEVICE, key)) for kind, keys in devices.items() for key in keys]
    for kind, pointer in fields:
        accepted = [text for text in NUMBERS if accepts(changed(GOOD[kind], put(*pointer, text)), kind)]
        assert accepted == ["0", "00"], pointer
    on_host = ("node_list", 0, "ranks", 0, "device_id")
    accepted = [text for text in NUMBERS if accepts(changed(nodes(), put(*on_host, text)), NODE_LIST)]
    assert accepted == ["0", "00", "-1"]


def test_texts_and_lists_have_no_other_type() -> None:
    texts: list[Pointer] = [(*DEVICE, key) for key in ("device_ip", *DEVICE_TEXTS)]
    texts += [("server_list", 0, key) for key in SERVER_TEXTS]
    of_pods: list[Pointer] = [(*POD, "super_pod_id"), (*POD, "server_list", 0, "server_id")]
    contents: list[Any] = ["1", 1, None, [], True]
    for kind, pointers in ((SERVER_LIST, texts), (SUPER_PODS, [*texts, *of_pods])):
        for pointer in pointers:
            verdicts = [accepts(changed(GOOD[kind], put(*pointer, new)), kind) for new in contents]
            assert verdicts == [True, False, False, False, False], pointer
    for pointer in (("super_pod_list",), POD, (*POD, "server_list"), (*POD, "server_list", 0)):
        for content in (None, "0", 0, [0], {"super_pod_id": 0}):
            assert not accepts(changed(GOOD[SUPER_PODS], put(*pointer, content)), SUPER_PODS), pointer


def test_super_pods_and_sdids_may_be_absent() -> None:
    document = changed(pods_value(1, 1, 2), cut("super_pod_list"), cut(*DEVICE, "super_device_id"))
    assert accepts(document, SUPER_PODS)
    assert accepts(document | {"super_pod_list": []}, SUPER_PODS)


def test_an_address_is_required_if_a_group_has_several_pods() -> None:
    address = ("group_list", 0, "instance_list", 0, "devices", 0, "device_ip")
    assert [accepts(changed(cloud(pods), cut(*address)), TEMPLATE_2) for pods in (1, 2)] == [True, False]


def test_a_number_instead_of_a_string_is_one_error_at_its_position() -> None:
    for kind in (SERVER_LIST, SUPER_PODS, NODE_LIST, TEMPLATE_2, TEMPLATE_2_LAB):
        for pointer in leaves(GOOD[kind]):
            if not UNREAD & set(pointer):
                findings = read(changed(GOOD[kind], put(*pointer, 1)), kind)
                assert not isinstance(findings, RankTable), pointer
                assert {(found.rule, found.pointer) for found in findings} == {("HK102", pointer)}


RANK = ("rank_list", 1)
LEVEL = ranks_value(1)["rank_list"][0]["level_list"][0]


@pytest.mark.parametrize(
    ("kind", "pointer", "wrong", "rule", "words", "fix"),
    [
        (SERVER_LIST, (*DEVICE, "rank_id"), 1, "HK102", "the number 1; expected a string; HCCL treats any", '"1"'),
        (SERVER_LIST, (*DEVICE, "rank_id"), "-1", "HK103", '"rank_id" is "-1"; expected a decimal number', None),
        (SERVER_LIST, (*DEVICE, "rank_id"), "99999999999", "HK103", '"99999999999"; expected a decimal', None),
        (SERVER_LIST, (*DEVICE, "rank_id"), "99999999999", "HK103", "1 to 10 digits", None),
        (SERVER_LIST, (*DEVICE, "device_id"), "npu0", "HK104", '"device_id" is "npu0"', None),
        (SERVER_LIST, ("server_count",), "one", "HK103", '"server_count" is "one"', None),
        (SERVER_LIST, ("server_count",), None, "HK102", '"server_count" is null', None),
        (SERVER_LIST, ("version",), 1.0, "HK102", "the number 1.0", '"1.0"'),
        (SERVER_LIST, ("version",), "1.1", "HK107", 'expected "1.0"', None),
        (SERVER_LIST, ("status",), True, "HK102", "the value true", None),
        (SERVER_LIST, ("server_list",), {}, "HK102", "an object; expected an array", None),
        (SERVER_LIST, ("server_list", 0), "10.0.0.1", "HK102", 'the string "10.0.0.1"; expected an object', None),
        (SERVER_LIST, (*DEVICE, "device_ip"), None, "HK102", "null", None),
        (RANK_LIST, (*RANK, "rank_id"), "1", "HK102", 'the string "1"; expected an integer', "1"),
        (RANK_LIST, (*RANK, "rank_id"), " 1 ", "HK102", "expected an integer", "1"),
        (RANK_LIST, (*RANK, "rank_id"), "one", "HK102", "expected an integer", None),
        (RANK_LIST, (*RANK, "rank_id"), 1.0, "HK102", "the number 1.0; expected an integer", None),
        (RANK_LIST, (*RANK, "rank_id"), -1, "HK114", "is -1; accepted: 0 to 65535", None),
        (RANK_LIST, (*RANK, "device_port"), 65536, "HK114", "1 to 65535", None),
        (RANK_LIST, (*RANK, "level_list"), [LEVEL] * 9, "HK115", "has 9 items; accepted: 0 to 8", None),
    ],
)
def test_an_invalid_value_is_one_error_at_its_position(
    kind: Kind, pointer: Pointer, wrong: Any, rule: str, words: str, fix: str | None
) -> None:
    (found,) = schema.findings(changed(GOOD[kind], put(*pointer, wrong)), kind.schema)
    assert (found.rule, found.pointer) == (rule, pointer)
    assert words in found.message
    assert [edit.text for edit in found.fix] == ([fix] if fix else [])


def test_a_missing_key_is_one_error_and_a_typo_is_recognised() -> None:
    required: dict[Kind, list[Pointer]] = {
        SERVER_LIST: [
            *(("version",), ("status",), ("server_list",), ("server_list", 0, "server_id")),
            *(("server_list", 0, "device"), (*DEVICE, "device_id"), (*DEVICE, "rank_id")),
        ],
        SUPER_PODS: [(*POD, "super_pod_id"), (*POD, "server_list"), (*POD, "server_list", 0, "server_id")],
        TEMPLATE_2: [("group_list", 0, "instance_list", 0, "devices", 0, key) for key in ("device_id", "device_ip")],
    }
    for kind, pointers in required.items():
        for pointer in pointers:
            *way, key = pointer
            without = changed(GOOD[kind], cut(*pointer))
            (missing,) = schema.findings(without, kind.schema)
            assert (missing.rule, missing.pointer) == ("HK101", tuple(way))
            assert f'"{key}" is missing' in missing.message
            typo = (*way, f"{key}x")
            (found,) = schema.findings(changed(without, put(*typo, at(GOOD[kind], pointer))), kind.schema)
            assert (found.rule, found.pointer, found.on_key) == ("HK101", typo, True)
            assert found.hint == f'did you mean "{key}"?'


def test_a_missing_version_is_named() -> None:
    (found,) = schema.findings(changed(ranks_value(2), cut("version")), RANK_LIST.schema)
    assert (found.hint or "").startswith('add "version": "2.0"')


def test_a_word_in_another_case_is_fixed() -> None:
    address = (*RANK, "level_list", 1, "rank_addr_list", 0, "addr_type")
    for written, fix in (("IPv4", ['"IPV4"']), (" ipv4 ", ['"IPV4"']), ("IP", []), ("IPV5", [])):
        (found,) = schema.findings(changed(ranks_value(2), put(*address, written)), RANK_LIST.schema)
        assert found.rule == "HK116"
        assert [edit.text for edit in found.fix] == fix


def test_a_document_wrong_everywhere_gives_a_bounded_list() -> None:
    document = value() | {"server_list": [1] * 100_000}
    assert len(list(schema.findings(document, SERVER_LIST.schema))) == MAX_FINDINGS


def test_a_document_without_version_is_recognised_by_one_key() -> None:
    for document, kind in (
        ({"group_list": []}, TEMPLATE_2),
        ({"group_list": [], "deploy_mode": None}, TEMPLATE_2_LAB),
        ({"deploy_mode": "lab"}, TEMPLATE_2_LAB),
        ({"version": "1.1", "deploy_mode": "lab"}, NODE_LIST),
    ):
        assert recognise(document) is kind
