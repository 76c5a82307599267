"""One line has one meaning: `explain` and `diagnose` read it by the same row.

`lines.txt` has lines of logs, and what both make of them. A row that begins with "> " is a line of a log; the rows
below it are what `explain` says, and the facts that `diagnose` reads; a line without any is not known, such as one of
another program. `pytest tests/diagnosis/test_both_commands.py --update-golden` writes them; review the diff afterwards.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.errors.answers import answer_of, candidates
from hccl_kit.diagnosis.errors.table import BY_CODE, ROWS
from hccl_kit.diagnosis.facts import ArgumentMismatch, Fact, Fault, Heartbeat, VersionMismatch
from hccl_kit.diagnosis.lookup import explain
from tests.diagnosis.logs.lines import facts_of, plog

FILE = Path(__file__).with_name("lines.txt")
LOGS = [
    "".join(f"{row[2:]}\n" for row in block.split("\n") if row.startswith("> "))
    for block in FILE.read_text(encoding="utf-8").split("\n\n")
]


def explained(log: str) -> list[str]:
    """A row for each answer of `explain`: code and role, the meaning, and the values of the line; then the rules."""
    try:
        explanation = explain(log)
    except KitError:
        return []
    rules = [rule.id for rule in explanation.rules]
    return [
        *(
            f"  explain: {answer.code or 'no code'}, {answer.row.role}: " + "; ".join([answer.row.what, *answer.says])
            for answer in explanation.answers
        ),
        *([f"  rules: {', '.join(rules) if len(rules) < 8 else len(rules)}"] if rules else []),
    ]


def row_of(fact: Fact) -> str:
    """A fact with the fields that say something; of a long text the beginning."""
    values = {name: value for name, value in fact._asdict().items() if str(value) not in ("None", "False", "")}
    return f"  {type(fact).__name__}: " + ", ".join(f"{name} {str(value)[:60]}" for name, value in values.items())


def test_each_line_is_explained_and_states_its_facts(request: pytest.FixtureRequest) -> None:
    blocks = []
    for log in LOGS:
        facts = sorted(map(row_of, facts_of(log)))
        blocks.append("\n".join([*(f"> {line}" for line in log.splitlines()), *explained(log), *facts]))
    page = "\n\n".join(blocks) + "\n"
    if request.config.getoption("--update-golden"):
        FILE.write_text(page, encoding="utf-8")
    assert page == FILE.read_text(encoding="utf-8")


@given(st.sampled_from(LOGS), st.data())
def test_a_truncated_line_states_no_more_than_the_whole_line(log: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(log) - 1))
    whole = facts_of(log)
    for fact in facts_of(log[:at]):
        assert any(type(fact) is type(one) and is_part(fact, one) for one in whole), (fact, log[:at])


def is_part(fact: Fact, whole: Fact) -> bool:
    """Whether one fact is contained in the other; the text of a fault may be shorter, and fit another row."""
    if isinstance(fact, Fault) and isinstance(whole, Fault):
        fact, whole = (fault._replace(role=None, fix="") for fault in (fact, whole))
    return all(
        one is None or one is False or one == other or (isinstance(fact, Fault) and str(other).startswith(str(one)))
        for one, other in zip(fact, whole, strict=True)
    )


def test_a_root_error_is_one_for_both_commands_with_its_values() -> None:
    for row in ROWS:
        if not (row.in_output and row.role == "cause"):
            continue
        answer = answer_of(row.example, candidates(row.example), of_ascend=True)
        assert answer is not None, row.what
        (fault,) = (fact for fact in facts_of(f"{row.example}\n") if isinstance(fact, Fault))
        assert (fault.role, fault.is_symptom, fault.fix) == (answer.row.role, False, answer.row.fix), row.what
        assert all(sentence in fault.kind for sentence in answer.says if answer.row is row), row.what


def test_both_packages_of_a_rank_are_named() -> None:
    text = (
        "The Toolkit (cann-hcomm) and ops (cann-hccl) versions are inconsistent. The local Toolkit (cann-hcomm) version"
        " is 9.1 and ops (cann-hccl) version is 9.0, while the remote Toolkit (cann-hcomm) version is 9.2 and ops"
        " (cann-hccl) version is 9.3."
    )
    (own,) = (fact for fact in facts_of(plog(text)) if isinstance(fact, VersionMismatch))
    assert own.own == "Toolkit (cann-hcomm) version is 9.1 and ops (cann-hccl) version is 9.0"
    assert own.other == "Toolkit (cann-hcomm) version is 9.2 and ops (cann-hccl) version is 9.3"


def test_operators_that_heartbeats_find_to_differ_are_no_lost_card() -> None:
    line = plog("[Heartbeat]check opinfo inconsistent. identifier[g] index[4], local(AllReduce,8); remote(Broadcast,8)")
    assert facts_of(line) == [ArgumentMismatch("operator 4", "AllReduce,8", "Broadcast,8")]
    verdict = (
        "Cluster Exception Location[IP/ID]:[10.0.0.1/3], Arrival Time:[x], ExceptionType:[Op Inconsistent Occurred]"
    )
    assert not [fact for fact in facts_of(plog(verdict)) if isinstance(fact, Heartbeat)]


@pytest.mark.parametrize(
    ("number", "words", "role"),
    [
        ("107022", "being aborted", "symptom"),
        ("207002", "could not be freed", "result"),
        ("207003", "overflow", "cause"),
        ("507008", "SOC version", "cause"),
        ("507013", "system DMA", "cause"),
        ("507012", "report did not come", "symptom"),
        ("507904", "could not repeat", "pointer"),
        ("207008", "no streams", "cause"),
    ],
)
def test_a_number_means_what_the_header_of_the_runtime_says(number: str, words: str, role: str) -> None:
    assert words in BY_CODE[number].what
    assert BY_CODE[number].role == role
