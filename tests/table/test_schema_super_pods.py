"""The published schema of version 1.2: valid, and consistent with the reader."""

import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hccl_kit.base import schemas
from hccl_kit.table import schema
from hccl_kit.table.formats.server_list import DEVICE_TEXTS, SERVER_TEXTS, to_value
from hccl_kit.table.model import RankTable
from hccl_kit.table.pointer import Pointer
from tests.table.test_schema import TEXTS, at, broken, fits
from tests.tables import json_values, pod_tables, pods_value

STEM = "rank_table_1.2"
DEVICE = ("server_list", 0, "device", 1)
POD = ("super_pod_list", 0)


def agrees(document: Any) -> bool:
    """Whether the document is valid; asserts that reader and schema agree."""
    verdict = fits(document)
    assert verdict == (not list(schema.findings(document, STEM)))
    return verdict


def changed(pointer: Pointer, content: Any) -> Any:
    document = copy.deepcopy(pods_value(2, 1, 2))
    at(document, pointer[:-1])[pointer[-1]] = content
    return document


def test_the_schema_is_valid_and_describes_every_key() -> None:
    loaded = schemas.load(STEM)
    Draft202012Validator.check_schema(loaded)
    for part in (loaded, *loaded["$defs"].values()):
        assert part["description"]
        for field in part.get("properties", {}).values():
            assert "description" in field or "$ref" in field


def test_it_has_the_keys_of_version_1_0_and_four_more() -> None:
    first, second = schemas.load("rank_table_1.0"), schemas.load(STEM)
    assert set(second["properties"]) - set(first["properties"]) == {"super_pod_list"}
    assert set(second["$defs"]) - set(first["$defs"]) == {"super_pod", "pod_server"}
    assert set(second["$defs"]["device"]["properties"]) - set(first["$defs"]["device"]["properties"]) == {
        "super_device_id"
    }
    for part, rules in first["$defs"].items():
        assert set(rules.get("properties", {})) <= set(second["$defs"][part].get("properties", {}))
        assert rules.get("required") == second["$defs"][part].get("required")


@given(st.randoms(use_true_random=False), json_values | st.sampled_from([*TEXTS, "1.2"]))
def test_schema_and_reader_agree(chance: random.Random, replacement: Any) -> None:
    document = broken(pods_value(2, 1, 2), chance, replacement)
    # Version 1.0, without super pods and SDIDs, has another schema.
    if not (isinstance(document, dict) and document.get("version") == "1.0"):
        agrees(document)


@given(pod_tables)
def test_every_written_table_is_valid(table: RankTable) -> None:
    assert agrees(to_value(table))


@pytest.mark.parametrize("text", TEXTS)
def test_schema_and_reader_agree_on_sdids(text: str) -> None:
    assert agrees(changed((*DEVICE, "super_device_id"), text)) == (text in ("0", "00"))


@pytest.mark.parametrize(
    "pointer",
    [
        *[(*DEVICE, key) for key in ("device_ip", *DEVICE_TEXTS)],
        *[("server_list", 0, key) for key in SERVER_TEXTS],
        (*POD, "super_pod_id"),
        (*POD, "server_list", 0, "server_id"),
    ],
)
def test_a_string_must_not_be_a_number_or_null(pointer: Pointer) -> None:
    contents: list[Any] = ["1", "", 1, None, [], True]
    assert [agrees(changed(pointer, content)) for content in contents] == [True] * 2 + [False] * 4


@pytest.mark.parametrize("pointer", [("super_pod_list",), POD, (*POD, "server_list"), (*POD, "server_list", 0)])
@pytest.mark.parametrize("content", [None, "0", 0, [0], {"super_pod_id": 0}])
def test_a_list_of_super_pods_must_contain_objects(pointer: Pointer, content: Any) -> None:
    assert not agrees(changed(pointer, content))


@pytest.mark.parametrize(
    "pointer", [(*POD, "super_pod_id"), (*POD, "server_list"), (*POD, "server_list", 0, "server_id")]
)
def test_a_missing_key_gives_one_error_and_a_typo_is_recognised(pointer: Pointer) -> None:
    *way, key = pointer
    document = pods_value(2, 1, 2)
    holder = at(document, tuple(way))
    content = holder.pop(key)
    (missing,) = schema.findings(document, STEM)
    assert (missing.rule, missing.pointer) == ("HK101", tuple(way))

    holder[f"{key}s"] = content
    (found,) = schema.findings(document, STEM)
    assert (found.rule, found.pointer) == ("HK101", (*way, f"{key}s"))
    assert found.hint == f'did you mean "{key}"?'


def test_super_pods_and_sdids_may_be_absent() -> None:
    document = pods_value(1, 1, 2)
    del document["super_pod_list"]
    del document["server_list"][0]["device"][0]["super_device_id"]
    assert agrees(document)
    assert agrees(document | {"super_pod_list": []})
