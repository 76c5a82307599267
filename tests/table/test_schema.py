"""The published schema: valid, found, and consistent with the reader."""

import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hccl_kit.base import schemas
from hccl_kit.table import schema
from hccl_kit.table.finding import MAX_FINDINGS
from hccl_kit.table.formats.server_list import DEVICE_TEXTS, SERVER_TEXTS, from_value
from hccl_kit.table.formats.shape import StructureError
from hccl_kit.table.pointer import Pointer
from tests.tables import json_values, value


def test_the_schema_is_valid_and_describes_every_key() -> None:
    loaded = schemas.load("rank_table_1.0")
    Draft202012Validator.check_schema(loaded)
    for part in (loaded, *loaded["$defs"].values()):
        assert part["description"]
        for field in part.get("properties", {}).values():
            assert "description" in field or "$ref" in field


def fits(document: object) -> bool:
    try:
        from_value(document)
    except StructureError:
        return False
    return True


def broken(document: Any, chance: random.Random, replacement: Any) -> Any:
    """The document with a value at a random position replaced, removed or added."""
    holder, part = document, None
    while isinstance(holder, (dict, list)) and holder:
        part = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        if chance.random() < 0.4 or not isinstance(holder[part], (dict, list)):
            break
        holder = holder[part]
    action = chance.choice(["replace", "replace", "remove", "add"])
    if action == "remove":
        del holder[part]
    elif action == "add" and isinstance(holder, dict):
        keys = ["host_ip", "device_port", "host_port", "net_protocol", "server_count", "pod_ip"]
        holder[chance.choice(keys)] = replacement
    else:
        holder[part] = replacement
    return document


TEXTS = ["1.0", "1.1", "0", "00", "7\n", " 7", "+7", "-1", "٣", "99999999999", "", "completed"]


@given(st.randoms(use_true_random=False), json_values | st.sampled_from(TEXTS))
def test_schema_and_reader_agree(chance: random.Random, replacement: Any) -> None:
    document = broken(value(servers=2, cards=2), chance, replacement)
    assert fits(document) == (not list(schema.findings(document, "rank_table_1.0")))


@given(json_values)
def test_schema_and_reader_agree_on_any_value(document: Any) -> None:
    assert fits(document) == (not list(schema.findings(document, "rank_table_1.0")))


DEVICE = ("server_list", 0, "device", 1)


def at(document: Any, pointer: Pointer) -> Any:
    for part in pointer:
        document = document[part]
    return document


@pytest.mark.parametrize(
    ("pointer", "wrong", "rule", "words"),
    [
        (
            (*DEVICE, "rank_id"),
            1,
            "HK102",
            "the number 1; expected a string; HCCL treats any other type as a missing",
        ),
        ((*DEVICE, "rank_id"), "-1", "HK103", '"rank_id" is "-1"; expected a decimal number'),
        ((*DEVICE, "rank_id"), "99999999999", "HK103", '"rank_id" is "99999999999"; expected a decimal number of'),
        ((*DEVICE, "rank_id"), "99999999999", "HK103", "1 to 10 digits"),
        ((*DEVICE, "device_id"), "npu0", "HK104", '"device_id" is "npu0"'),
        (("server_count",), "one", "HK103", '"server_count" is "one"'),
        (("server_count",), None, "HK102", '"server_count" is null'),
        (("version",), 1.0, "HK102", "the number 1.0"),
        (("version",), "1.1", "HK107", 'expected "1.0"'),
        (("status",), True, "HK102", "the value true"),
        (("server_list",), {}, "HK102", "an object; expected an array"),
        (("server_list", 0), "10.0.0.1", "HK102", 'this is the string "10.0.0.1"; expected an object'),
        ((*DEVICE, "device_ip"), None, "HK102", "null"),
    ],
)
def test_an_invalid_value_gives_one_error_at_its_position(pointer: Pointer, wrong: Any, rule: str, words: str) -> None:
    document = value()
    at(document, pointer[:-1])[pointer[-1]] = wrong
    (found,) = schema.findings(document, "rank_table_1.0")
    assert (found.rule, found.pointer) == (rule, pointer)
    assert words in found.message


@pytest.mark.parametrize("key", ["device_id", "rank_id"])
@pytest.mark.parametrize("text", TEXTS)
def test_schema_and_reader_agree_on_numbers(key: str, text: str) -> None:
    document = value()
    at(document, DEVICE)[key] = text
    assert fits(document) == (not list(schema.findings(document, "rank_table_1.0"))) == (text in ("0", "00"))


@pytest.mark.parametrize(
    "pointer",
    [(*DEVICE, key) for key in ("device_ip", *DEVICE_TEXTS)] + [("server_list", 0, key) for key in SERVER_TEXTS],
)
def test_an_optional_key_must_be_a_string(pointer: Pointer) -> None:
    for content, is_good in (("1", True), (1, False), (None, False)):
        document = value()
        at(document, pointer[:-1])[pointer[-1]] = content
        assert fits(document) == (not list(schema.findings(document, "rank_table_1.0"))) == is_good


@pytest.mark.parametrize(
    "pointer",
    [
        ("version",),
        ("status",),
        ("server_list",),
        ("server_list", 0, "server_id"),
        ("server_list", 0, "device"),
        (*DEVICE, "device_id"),
        (*DEVICE, "rank_id"),
    ],
)
def test_a_missing_key_gives_one_error_and_a_typo_is_recognised(pointer: Pointer) -> None:
    *way, key = pointer
    document = value()
    holder = at(document, tuple(way))
    content = holder.pop(key)
    (missing,) = schema.findings(document, "rank_table_1.0")
    assert (missing.rule, missing.pointer) == ("HK101", tuple(way))
    assert f'"{key}" is missing' in missing.message

    slip = str(key)[:-1]
    holder[slip] = content
    (found,) = schema.findings(copy.deepcopy(document), "rank_table_1.0")
    assert (found.rule, found.pointer, found.on_key) == ("HK101", (*way, slip), True)
    assert found.hint == f'did you mean "{key}"?'


def test_a_document_wrong_everywhere_gives_a_bounded_list() -> None:
    document = value() | {"server_list": [1] * 100_000}
    assert len(list(schema.findings(document, "rank_table_1.0"))) == MAX_FINDINGS
