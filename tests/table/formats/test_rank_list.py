"""Version 2.0: tables round-trip, and schema and reader agree."""

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hccl_kit.base import schemas
from hccl_kit.table import schema
from hccl_kit.table.formats import write
from hccl_kit.table.formats.rank_list import from_value, to_value
from hccl_kit.table.formats.shape import StructureError
from tests.table.test_schema import broken
from tests.tables import json_values, ranks_value

STEM = "rank_table_2.0"
FULL = ranks_value(4, 2) | {"detour": "true", "note": "服务器"}
FULL["rank_list"][1] |= {
    "device_port": 16667,
    "host_port": 16668,
    "replaced_local_id": 3,
    "control_plane": {"addr_type": "IPV4", "addr": "10.0.0.1", "listen_port": 8000},
    "x": [1],
}
FULL["rank_list"][2]["level_list"][1] |= {"net_attr": "", "x": None}
FULL["rank_list"][2]["level_list"][1]["rank_addr_list"][0] |= {"plane_id": "a", "backup_addr": ["10.0.0.1"]}


@given(st.integers(1, 12), st.integers(1, 4))
def test_reading_and_writing_round_trip(ranks: int, networks: int) -> None:
    document = ranks_value(ranks, networks)
    table = from_value(document)
    assert to_value(table) == document
    assert json.loads(write(table)) == document
    assert from_value(to_value(table)) == table
    assert len(table.servers) == min(ranks, networks)


def test_every_key_round_trips() -> None:
    assert to_value(from_value(FULL)) == FULL
    without = {key: item for key, item in FULL.items() if key != "status"}
    assert to_value(from_value(without)) == without
    for status in ("", None, 1):
        odd = FULL | {"status": status}
        assert to_value(from_value(odd)) == odd
        assert from_value(odd).status == ""


def test_ranks_are_written_in_order_and_have_their_pointer() -> None:
    document = ranks_value(4, 2)
    document["rank_list"].reverse()
    table = from_value(document)
    assert [rank["rank_id"] for rank in to_value(table)["rank_list"]] == [0, 1, 2, 3]
    assert [device.at for _, device in table.by_rank()] == [("rank_list", 3 - n) for n in range(4)]
    assert [server.id for server in table.servers] == ["pod1", "pod0"]


def fits(document: object) -> bool:
    try:
        from_value(document)
    except StructureError:
        return False
    return True


WRONG = [-1, 0, 7, 8, 63, 64, 65, 65535, 65536, 65537, 1.0, True, "", "1", "EID", "IPV5", "CLOS", "true", "x" * 33, []]


@given(st.randoms(use_true_random=False), json_values | st.sampled_from(WRONG))
def test_schema_and_reader_agree(chance: random.Random, replacement: Any) -> None:
    document = broken(copy.deepcopy(FULL), chance, replacement)
    assert fits(document) == (not list(schema.findings(document, STEM)))


def scalars(at: Any, pointer: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(at, (dict, list)):
        parts = at.items() if isinstance(at, dict) else enumerate(at)
        return [pointer, *(found for part, inner in parts for found in scalars(inner, (*pointer, part)))]
    return [pointer]


def test_schema_and_reader_agree_on_every_field() -> None:
    for pointer in filter(None, scalars(FULL)):
        for replacement in [*WRONG, None, {}, "y" * 300, "y" * 1025, [1] * 25, ["0/1"] * 17]:
            document: Any = copy.deepcopy(FULL)
            holder = document
            for part in pointer[:-1]:
                holder = holder[part]
            holder[pointer[-1]] = replacement
            assert fits(document) == (not list(schema.findings(document, STEM))), (pointer, replacement)


def test_a_word_in_another_case_is_fixed() -> None:
    document = ranks_value(2)
    address = document["rank_list"][1]["level_list"][1]["rank_addr_list"][0]
    for written, mended in (("IPv4", ['"IPV4"']), (" ipv4 ", ['"IPV4"']), ("IP", []), ("IPV5", [])):
        address["addr_type"] = written
        (found,) = schema.findings(document, STEM)
        assert found.rule == "HK116"
        assert [edit.text for edit in found.fix] == mended


def test_a_missing_version_is_named() -> None:
    document = {key: item for key, item in ranks_value(2).items() if key != "version"}
    (found,) = schema.findings(document, STEM)
    assert (found.hint or "").startswith('add "version": "2.0"')


def test_the_schema_is_valid_and_describes_every_key() -> None:
    loaded = schemas.load(STEM)
    Draft202012Validator.check_schema(loaded)
    for part in (loaded, *loaded["$defs"].values()):
        assert part["description"]
        for field in part.get("properties", {}).values():
            assert "description" in field or "$ref" in field


LEVEL = ranks_value(1)["rank_list"][0]["level_list"][:1]


@pytest.mark.parametrize(
    ("key", "wrong", "rule", "words", "mended"),
    [
        ("rank_id", "1", "HK102", 'the string "1"; expected an integer', "1"),
        ("rank_id", " 1 ", "HK102", "expected an integer", "1"),
        ("rank_id", "one", "HK102", "expected an integer", None),
        ("rank_id", 1.0, "HK102", "the number 1.0; expected an integer", None),
        ("rank_id", -1, "HK114", "is -1; accepted: 0 to 65535", None),
        ("device_port", 65536, "HK114", "1 to 65535", None),
        (
            "level_list",
            ranks_value(1)["rank_list"][0]["level_list"][:1] * 9,
            "HK115",
            "has 9 items; accepted: 0 to 8",
            None,
        ),
    ],
)
def test_an_invalid_value_is_explained(key: str, wrong: Any, rule: str, words: str, mended: str | None) -> None:
    document = ranks_value(2)
    document["rank_list"][1][key] = wrong
    (found,) = schema.findings(document, STEM)
    assert (found.rule, found.pointer) == (rule, ("rank_list", 1, key))
    assert words in found.message
    assert [edit.text for edit in found.fix] == ([mended] if mended else [])
