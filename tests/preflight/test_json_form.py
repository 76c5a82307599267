"""The JSON form: it is complete, valid by its schema, and the part of a server is read back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hccl_kit.base.errors import KitError
from hccl_kit.base.schemas import load
from hccl_kit.preflight.answer import Answer, from_value, to_value
from hccl_kit.preflight.inspection import Report
from hccl_kit.preflight.json_form import Subject, as_json
from hccl_kit.preflight.machine import answer
from hccl_kit.table.finding import Finding
from tests.preflight.nodes import node

SUBJECT = Subject("t.json", "0" * 64, "910")
words = st.text(max_size=20)
NO_PLACE = Finding("")
founds = st.builds(
    NO_PLACE._replace,
    name=words,
    rule=st.from_regex(r"HK6[0-9]{2}", fullmatch=True),
    severity=st.sampled_from(["error", "warning", "note"]),
    message=st.text(min_size=1, max_size=20),
    hint=st.none() | words,
    hccl_error=st.none() | st.just("EI0014"),
    device=st.none() | st.integers(0, 63),
)


@st.composite
def answer_values(draw: st.DrawFn) -> Answer:
    server = draw(words)
    skipped = draw(st.lists(st.tuples(st.just("HK620"), words), max_size=2))
    report = Report(server or None, tuple(draw(st.lists(founds, max_size=3))), ("HK600",), tuple(skipped))
    return Answer(
        server,
        draw(words),
        report,
        facts=draw(st.dictionaries(words, words, max_size=2)),
        variables=draw(st.dictionaries(words, words, max_size=2)),
        clock=draw(st.floats(0, 1e10)),
        error=draw(st.none() | words),
    )


@given(answer_values())
def test_a_report_of_a_server_round_trips(one: Answer) -> None:
    assert from_value(json.loads(json.dumps(to_value(one)))) == one


@given(answer_values(), st.lists(founds, max_size=2))
def test_every_report_is_valid_by_its_schema(one: Answer, unlike: list[Finding]) -> None:
    document = json.loads(as_json(SUBJECT, [one], unlike))
    Draft202012Validator(load("preflight_report")).validate(document)
    bad = any(found.severity == "error" for found in (*one.report.findings, *unlike))
    assert document["ok"] == (not bad and one.error is None)


def test_the_schema_is_valid() -> None:
    Draft202012Validator.check_schema(load("preflight_report"))


def test_the_answer_of_this_machine_is_read() -> None:
    here = answer(
        node(environ={"HCCL_BUFFSIZE": "200", "HCCL_IF_IP": "10.0.0.1", "HCCL_KIT_SSH": "ssh", "HOME": "/root"})
    )
    assert here.variables == {"HCCL_BUFFSIZE": "200"}
    assert from_value(to_value(here)) == here


@pytest.mark.parametrize("value", [None, [], {}, {**to_value(Answer("a")), "clock": "now"}])
def test_what_is_no_answer_is_refused(value: object) -> None:
    with pytest.raises(KitError, match="the answer does not match the schema: "):
        from_value(value)
