"""The report matches its schema and round-trips; invalid reports are refused with one line."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hccl_kit.base.errors import KitError
from hccl_kit.base.schemas import load
from hccl_kit.selftest.evidence import Weighed, weigh
from hccl_kit.selftest.json_form import as_json, assert_comparable, measured_of, read_baseline
from hccl_kit.selftest.measured import OPERATORS, Collective, LostRank, Measured, Split
from hccl_kit.selftest.verdict import judge
from tests.selftest.results import broken, healthy, in_passes, slowed

HARMED = replace(
    in_passes(broken(slowed(healthy(3, 2), lambda pair: 0 in pair, 0.3), lambda pair: pair == (1, 5)), 3),
    splits=(Split((("10.0.0.1",), ("10.0.0.2", "10.0.0.3")), ((1.0, 0.0), (2.0, 3.5))),),
    collectives=(Collective("all_reduce", 4, 6, None, "timed out"), Collective("broadcast", 4, 6, 0.5)),
    lost=(LostRank(2, "dead", "signal 9"),),
    skipped=("all_to_all",),
)


@pytest.mark.parametrize("measured", [healthy(1, 1), healthy(3, 2), HARMED])
def test_a_report_round_trips(measured: Measured) -> None:
    document = json.loads(as_json(measured, weigh(judge(measured), measured), table="t.json", slow=0.6))
    Draft202012Validator(load("selftest_report")).validate(document)
    assert measured_of(document, "b.json") == measured
    assert document["ok"] is (measured is not HARMED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "b.json is not JSON"),
        ("[" * 100_000, "b.json is not JSON"),
        ("[]", "is not a report of a selftest: : [] is not of type 'object'"),
        ('{"version": NaN}', "b.json is not JSON: NaN is not a number of JSON"),
        ('{"version": 2}', "has version 2 of the report; accepted: 1"),
        ('{"version": 1}', "is not a report of a selftest"),
    ],
)
def test_an_invalid_report_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(KitError) as caught:
        read_baseline(tmp_path / "b.json")
    assert message in caught.value.message
    assert "\n" not in caught.value.message


VALUES: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([])


@given(st.data())
def test_a_damaged_report_is_refused_or_gives_valid_results(data: st.DataObject) -> None:
    document: Any = json.loads(as_json(HARMED, weigh(judge(HARMED), HARMED), table="t.json", slow=0.6))
    key = data.draw(st.sampled_from(sorted(document)))
    target = document[key]
    value = data.draw(VALUES)
    if isinstance(target, list) and target and isinstance(target[0], dict) and data.draw(st.booleans()):
        target[0][data.draw(st.sampled_from(sorted(target[0])))] = value
    else:
        document[key] = value
    try:
        found = measured_of(document, "b.json")
    except KitError:
        return
    assert {collective.operator for collective in found.collectives} <= set(OPERATORS)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "-1"])
def test_an_invalid_bandwidth_is_refused(number: str, tmp_path: Path) -> None:
    text = as_json(healthy(2, 1), Weighed((), ()), table="t.json", slow=0.6)
    (tmp_path / "b.json").write_text(text.replace('"bandwidth": 2.0', f'"bandwidth": {number}'))
    with pytest.raises(KitError):
        read_baseline(tmp_path / "b.json")


def test_a_baseline_of_another_setup_is_refused() -> None:
    assert_comparable(healthy(3, 2), healthy(3, 2), "b.json")
    with pytest.raises(KitError, match="measured with --backend gloo, this run with mpi"):
        assert_comparable(healthy(3, 2), replace(healthy(3, 2), backend="gloo"), "b.json")
    with pytest.raises(KitError, match=r"is of other cards: rank 6 \(10\.0\.0\.4, card 0\)"):
        assert_comparable(healthy(3, 2), healthy(4, 2), "b.json")
