"""The JSON format of a diagnosis."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from hccl_kit.diagnosis.report.json_form import as_json
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis
from tests.diagnosis.report.diagnoses import cannot_tell, diagnoses, hostile, port_taken
from tests.places import ROOT

SCHEMA: dict[str, Any] = json.loads((ROOT / "schemas" / "diagnosis.schema.json").read_text())


def read(diagnosis: Diagnosis) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(as_json(diagnosis), parse_constant=pytest.fail)
    jsonschema.validate(value, SCHEMA)
    return value


def test_the_first_fault_has_its_rank_place_and_time() -> None:
    value = read(port_taken())
    assert value["certainty"] == "certain"
    assert value["first_fault"] == {
        "rank": 27,
        "server": "10.0.0.4",
        "device": 3,
        "rule": "HK701",
        "code": "EI0019",
        "time": "2025-11-20T21:37:51.500",
        "kind": "could not listen on port 16666, it is taken",
        "place": {"file": "10.0.0.4/debug/plog/plog-4727_20251120213751000.log", "line": 812},
    }
    assert value["cascade"][0]["rank"] == 1
    assert value["cascade"][0]["waits_for"] == 0
    assert value["cascade"][0]["code"] == "EI0006"
    assert value["silent_ranks"] == [19]
    assert value["clock_offsets_s"] == {"10.0.0.3": -41.2, "10.0.0.2": 0.4}
    assert value["evidence"][1]["line"] == 1033


def test_without_a_first_fault_it_is_null() -> None:
    value = read(cannot_tell())
    assert (value["first_fault"], value["certainty"]) == (None, "cannot_tell")
    assert [one["rank"] for one in value["suspects"]] == [0, 8]
    assert value["cascade"][1]["time"] is None


def test_hostile_strings_are_plain_values() -> None:
    text = as_json(hostile())
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert read(hostile())["first_fault"]["time"] is None


@given(diagnoses)
def test_any_diagnosis_matches_the_schema(diagnosis: Diagnosis) -> None:
    read(diagnosis)
