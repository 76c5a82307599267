"""Reports of one machine and of all: as text, and as JSON that is valid by its schema and is read back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hccl_kit.base.errors import KitError
from hccl_kit.base.schemas import load
from hccl_kit.preflight.answer import Answer, Report, from_value, to_value
from hccl_kit.preflight.machine import answer
from hccl_kit.preflight.reports import Subject, all_as_text, as_json, as_text
from hccl_kit.table.finding import Finding
from tests.preflight.nodes import node

TAKEN = Finding("port 60000 is taken", "end it", rule="HK604", severity="error", hccl_error="EI0019")
LOW = Finding("ulimit -n is 10", rule="HK613", severity="warning")


def server(name: str, *findings: Finding, skipped: tuple[tuple[str, str], ...] = ()) -> Answer:
    return Answer(name, f"host-{name}", Report(name, findings, ("HK604", "HK605", "HK613"), skipped))


def test_report_of_one_machine() -> None:
    skipped = (("HK620", "no NPU here"), ("HK621", "no NPU here"), ("HK630", "no NPU here"), ("HK631", "no tool"))
    assert as_text(server("node1", TAKEN, LOW, skipped=skipped)) == (
        "HK604 error: port 60000 is taken\n"
        "   = HCCL would stop with EI0019\n"
        "   = fix: end it\n"
        "HK613 warning: ulimit -n is 10\n"
        "server node1 (host-node1): 1 error, 1 warning, 1 check passed\n"
        "    not checked: HK620 to HK621, HK630 (no NPU here)\n"
        "    not checked: HK631 (no tool)"
    )


def test_equal_findings_of_many_servers_are_one_line() -> None:
    answers = [server(f"node{n}", TAKEN) if n != 3 else server("node3") for n in range(1, 17)]
    assert all_as_text(answers, []) == (
        "HK604 error on 15 of 16 servers, node[1-2,4-16]: port 60000 is taken\n"
        "   = HCCL would stop with EI0019\n"
        "   = fix: end it\n"
        "16 of 16 servers answered: 1 error, 0 differences"
    )


def test_findings_that_differ_are_shown_with_their_servers_and_counted() -> None:
    answers = [server(f"node{n}", TAKEN._replace(message=f"port {60000 + n // 2} is taken")) for n in range(2, 12)]
    assert all_as_text(answers, []) == (
        "HK604 error on 10 of 10 servers:\n"
        "    node[2-3]: port 60001 is taken\n"
        "    node[4-5]: port 60002 is taken\n"
        "    node[6-7]: port 60003 is taken\n"
        "    and 2 more; --format json lists all\n"
        "   = HCCL would stop with EI0019\n"
        "   = fix: end it\n"
        "10 of 10 servers answered: 1 error, 0 differences"
    )


def test_errors_and_warnings_of_one_rule_are_apart() -> None:
    error = Finding("the driver is 24.1.0", rule="HK672", severity="error")
    warning = Finding("/data is absent", rule="HK672", severity="warning")
    assert all_as_text([server("a", warning, error), server("b", warning)], []) == (
        "HK672 error on 1 of 2 servers, a: the driver is 24.1.0\n"
        "HK672 warning on 2 of 2 servers, a,b: /data is absent\n"
        "2 of 2 servers answered: 1 error, 1 warning, 0 differences"
    )


def test_silent_servers_come_first_and_differences_before_findings() -> None:
    unlike = Finding(
        "the table on node2 differs from the checked table",
        "copy it there",
        rule="HK615",
        severity="error",
        hccl_error="EI0014",
    )
    answers = [server("node1", skipped=(("HK620", "no NPU here"),)), Answer("node2", error="no answer in 5 s")]
    assert all_as_text(answers, [unlike]) == (
        "node2 did not answer: no answer in 5 s\n"
        "HK615 error: the table on node2 differs from the checked table\n"
        "   = HCCL would stop with EI0014\n"
        "   = fix: copy it there\n"
        "not checked on node1: HK620 (no NPU here)\n"
        "1 of 2 servers answered: 0 errors, 1 difference"
    )


def test_servers_that_do_not_answer_for_one_reason_are_one_line() -> None:
    no_route = "ssh: connect to host {} port 22: No route to host"
    unanswered = [Answer(f"10.0.0.{n}", error=no_route.format(f"10.0.0.{n}")) for n in range(1, 200)]
    unknown = "ssh: Could not resolve hostname {}: Name or service not known"
    unanswered += [Answer(f"rack-{n}", error=unknown.format(f"rack-{n}.site")) for n in range(1, 9)]
    unanswered += [Answer("node1", error="node10 is not node1")]
    assert all_as_text([server("node2"), *unanswered], []) == (
        "10.0.0.[1-199] did not answer: ssh: connect to host ADDRESS port 22: No route to host\n"
        "rack-[1-8] did not answer: ssh: Could not resolve hostname ADDRESS: Name or service not known\n"
        "node1 did not answer: node10 is not node1\n"
        "1 of 209 servers answered: 0 errors, 0 differences"
    )


def test_a_long_list_of_reasons_is_truncated() -> None:
    unanswered = [Answer(f"node{n}", error=f"reason {n}") for n in range(1000)]
    lines = all_as_text(unanswered, []).splitlines()
    assert lines[7:] == [
        "node7 did not answer: reason 7",
        "992 more servers did not answer, for other reasons; --format json lists all",
        "0 of 1000 servers answered: 0 errors, 0 differences",
    ]
    skipped = [server(f"node{n}", skipped=(("HK620", f"reason {n}"),)) for n in range(1000)]
    lines = all_as_text(skipped, []).splitlines()
    assert (len(lines), lines[8]) == (10, "and for 992 more reasons; --format json lists all")


def test_control_characters_are_replaced_and_colors_only_used_on_terminals() -> None:
    nasty = Finding("held by \x1b[2J", "kill\nit\x07", rule="HK604", severity="error")
    answers = [server("\x1b]0;x", nasty), server("b", nasty._replace(message="\x1b[3J"))]
    for text in (as_text(answers[0]), all_as_text(answers, [nasty]), all_as_text(answers[:1], [])):
        assert "\x1b" not in text
        assert "\x07" not in text
    assert as_text(server("a", TAKEN), color=True).startswith("\033[31mHK604 error:\033[0m ")


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
