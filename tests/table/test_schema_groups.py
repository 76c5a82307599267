"""The schemas of template 2 and of version 1.1: valid, and consistent with the readers."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hccl_kit.base import schemas
from hccl_kit.table import schema
from hccl_kit.table.formats import read
from hccl_kit.table.formats.kinds import NODE_LIST, TEMPLATE_2, TEMPLATE_2_LAB, Kind, recognise
from hccl_kit.table.model import RankTable
from hccl_kit.table.pointer import Pointer
from tests.groups import cloud, lab, nodes
from tests.table.test_schema import TEXTS, at
from tests.tables import json_values

FORMS: list[tuple[Kind, Callable[[], dict[str, Any]]]] = [
    (TEMPLATE_2, cloud),
    (TEMPLATE_2_LAB, lab),
    (NODE_LIST, nodes),
]
KEYS = ["deploy_mode", "version", "device_ip", "chip_info", "para_plane_nic_num", "mode", "heterog_sub_version", "port"]
UNREAD = ("deploy_mode", "para_plane_nic_name", "chip_info", "board_id", "para_plane_nic_num")
forms = pytest.mark.parametrize(("kind", "good"), FORMS, ids=lambda value: getattr(value, "schema", None))


def one_verdict(document: object, kind: Kind) -> bool:
    """Whether the reader accepts the document; asserts that the schema agrees."""
    taken = isinstance(read(document, kind), RankTable)
    assert taken == (not list(schema.findings(document, kind.schema)))
    return taken


def places(value: object, way: Pointer = ()) -> Iterator[Pointer]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in parts:
        yield (*way, part)
        yield from places(inner, (*way, part))


@forms
def test_the_schema_describes_every_key(kind: Kind, good: Callable[[], dict[str, Any]]) -> None:
    loaded = schemas.load(kind.schema)
    Draft202012Validator.check_schema(loaded)
    for part in (loaded, *loaded["$defs"].values()):
        assert part["description"]
        for field in part.get("properties", {}).values():
            assert field["description"]
    assert recognise(good()) is kind
    assert one_verdict(good(), kind)


@given(st.sampled_from(FORMS), st.randoms(use_true_random=False), json_values | st.sampled_from([*TEXTS, "-1"]))
def test_schema_and_reader_agree(form: Any, chance: random.Random, replacement: Any) -> None:
    kind, good = form
    document = good()
    *way, key = chance.choice(list(places(document)))
    holder = at(document, tuple(way))
    action = chance.choice(["replace", "remove", "add"])
    if action == "remove":
        del holder[key]
    elif action == "add" and isinstance(holder, dict):
        holder[chance.choice(KEYS)] = replacement
    else:
        holder[key] = replacement
    one_verdict(document, kind)


@given(st.sampled_from(FORMS), json_values)
def test_schema_and_reader_agree_on_any_value(form: Any, document: Any) -> None:
    one_verdict(document, form[0])


@forms
def test_a_number_instead_of_a_string_is_one_error_at_its_position(
    kind: Kind, good: Callable[[], dict[str, Any]]
) -> None:
    for pointer in list(places(good())):
        document = good()
        if not isinstance(at(document, pointer), str) or pointer[0] in UNREAD:
            continue
        at(document, pointer[:-1])[pointer[-1]] = 1
        findings = read(document, kind)
        assert not isinstance(findings, RankTable)
        assert {(found.rule, found.pointer) for found in findings} == {("HK102", pointer)}


@pytest.mark.parametrize(("pods", "is_taken"), [(1, True), (2, False)])
def test_an_address_is_required_if_a_group_has_several_pods(pods: int, is_taken: bool) -> None:
    document = cloud(pods=pods)
    device = document["group_list"][0]["instance_list"][0]["devices"][0]
    del device["device_ip"]
    assert one_verdict(document, TEMPLATE_2) == is_taken


@pytest.mark.parametrize(("pods", "key"), [(1, "device_id"), (2, "device_id"), (2, "device_ip")])
def test_a_typo_in_a_required_key_is_named(pods: int, key: str) -> None:
    document = cloud(pods=pods)
    way: Pointer = ("group_list", 0, "instance_list", 0, "devices", 0)
    device = at(document, way)
    device[key + "x"] = device.pop(key)
    (found,) = read(document, TEMPLATE_2)  # type: ignore[misc]  # a table would fail here, as intended
    assert (found.rule, found.pointer) == ("HK101", (*way, key + "x"))
    assert found.hint == f'did you mean "{key}"?'


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({"group_list": []}, TEMPLATE_2),
        ({"group_list": [], "deploy_mode": None}, TEMPLATE_2_LAB),
        ({"deploy_mode": "lab"}, TEMPLATE_2_LAB),
        ({"version": "1.1", "deploy_mode": "lab"}, NODE_LIST),
    ],
)
def test_the_form_is_recognised_by_one_key(document: Any, kind: Kind) -> None:
    assert recognise(document) is kind


@pytest.mark.parametrize("text", TEXTS)
def test_a_rank_runs_on_an_npu_or_on_the_cpu(text: str) -> None:
    document = nodes()
    document["node_list"][0]["ranks"][0]["device_id"] = text
    assert one_verdict(document, NODE_LIST) == (text in ("0", "00", "-1"))
