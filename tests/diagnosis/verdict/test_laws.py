"""Whatever happens to the logs, the answer is right or "cannot tell", and never wrong."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.diagnosis.logs.facts import Evidence
from hccl_kit.diagnosis.verdict.judge import judge
from tests.diagnosis.verdict.jobs import CARDS, PLANTED, host

KINDS = st.sampled_from(sorted(PLANTED))


def planted(kind: str) -> tuple[Evidence, frozenset[int]]:
    logs, culprits = PLANTED[kind]
    return logs().evidence(), culprits


def workers(evidence: Evidence) -> list[str]:
    return sorted({file.process.worker for file in evidence.files})


def shifted(evidence: Evidence, worker: str, seconds: float) -> Evidence:
    events = [
        event._replace(time=event.time + seconds)
        if event.process.worker == worker and event.time is not None
        else event
        for event in evidence.events
    ]
    return evidence._replace(events=tuple(events))


def without(evidence: Evidence, names: set[str]) -> Evidence:
    """Without the files of these names."""
    files = tuple(file for file in evidence.files if file.file not in names)
    return evidence._replace(
        files=files, events=tuple(event for event in evidence.events if event.place.file not in names)
    )


def is_wrong(evidence: Evidence, culprits: frozenset[int]) -> bool:
    first = judge(evidence).first_fault
    if first is None:
        return False
    _, server, card = first.suspect
    cards = {(host(rank), rank % CARDS) for rank in culprits}
    return first.suspect.rank not in culprits if first.suspect.rank is not None else (server, card) not in cards


@pytest.mark.parametrize("kind", sorted(PLANTED))
def test_the_culprit_is_named(kind: str) -> None:
    evidence, culprits = planted(kind)
    diagnosis = judge(evidence)
    assert diagnosis.first_fault is not None, diagnosis.reason
    assert diagnosis.first_fault.suspect.rank in culprits
    assert diagnosis.first_fault.suspect in diagnosis.suspects
    assert {suspect.rank for suspect in diagnosis.suspects} <= culprits
    assert diagnosis.fix
    assert diagnosis.evidence


@given(KINDS, st.integers(0, 2), st.floats(-1800, 1800))
def test_a_wrong_clock_changes_no_answer(kind: str, number: int, seconds: float) -> None:
    evidence, _ = planted(kind)
    names = workers(evidence)
    moved = judge(shifted(evidence, names[number % len(names)], seconds))
    straight = judge(evidence)
    assert moved.first_fault is not None
    assert straight.first_fault is not None
    assert moved.first_fault.suspect == straight.first_fault.suspect
    assert moved.certainty == straight.certainty


@given(KINDS, st.integers(0, 2), st.floats(-1800, 1800), st.booleans())
def test_a_wrong_clock_that_nothing_tells_of_is_never_a_wrong_answer(
    kind: str, number: int, seconds: float, marks: bool
) -> None:
    """Also without the moments by which clocks are compared."""
    evidence, culprits = planted(kind)
    names = workers(evidence)
    shift = shifted(evidence, names[number % len(names)], seconds)
    bare = [event for event in shift.events if marks or not getattr(event.fact, "complete", False)]
    assert not is_wrong(shift._replace(events=tuple(bare)), culprits)


@given(KINDS, st.integers(0, 2), st.floats(-1800, 1800))
def test_a_lost_worker_is_never_a_wrong_answer(kind: str, number: int, seconds: float) -> None:
    evidence, culprits = planted(kind)
    names = workers(evidence)
    gone = names[number % len(names)]
    left = without(evidence, {file.file for file in evidence.files if file.process.worker == gone})
    assert not is_wrong(left, culprits)
    assert not is_wrong(shifted(left, names[0], seconds), culprits)


@given(KINDS, st.integers(0, 11))
def test_a_lost_log_is_never_a_wrong_answer(kind: str, number: int) -> None:
    evidence, culprits = planted(kind)
    name = evidence.files[number % len(evidence.files)].file
    left = without(evidence, {name})
    assert not is_wrong(left, culprits)


@given(KINDS, st.integers(0, 11), st.integers(0, 8))
def test_a_cut_log_is_never_a_wrong_answer(kind: str, number: int, lines: int) -> None:
    evidence, culprits = planted(kind)
    name = evidence.files[number % len(evidence.files)].file
    files = tuple(file._replace(cut="ends in a line") if file.file == name else file for file in evidence.files)
    events = tuple(event for event in evidence.events if event.place.file != name or event.place.line <= lines)
    assert not is_wrong(Evidence(files, events), culprits)


@given(KINDS, st.randoms(use_true_random=False))
def test_the_order_of_files_does_not_matter(kind: str, shuffle: random.Random) -> None:
    evidence, _ = planted(kind)
    files = list(evidence.files)
    shuffle.shuffle(files)
    events = [event for file in files for event in evidence.events if event.place.file == file.file]
    mixed = judge(Evidence(tuple(files), tuple(events)))
    straight = judge(evidence)
    assert mixed.first_fault is not None
    assert straight.first_fault is not None
    assert mixed.first_fault.suspect == straight.first_fault.suspect


@given(st.integers(0, 2), st.floats(-1800, 1800))
def test_the_offset_of_a_clock_is_told(number: int, seconds: float) -> None:
    evidence, _ = planted("cut off")
    name = workers(evidence)[number]
    offsets = judge(shifted(evidence, name, seconds)).clock_offsets
    server = host(4 * number)
    others = [offsets.get(host(4 * other), offsets.get(f"node-{other}", 0.0)) for other in range(3) if other != number]
    own = offsets.get(server, offsets.get(name, 0.0))
    assert own - others[0] == pytest.approx(seconds, abs=1e-3)
    assert others[0] == pytest.approx(others[1])


def test_one_line_of_each_log_is_enough_for_an_answer() -> None:
    """Nothing crashes on logs that say next to nothing."""
    for kind in PLANTED:
        evidence, culprits = planted(kind)
        for event in evidence.events:
            assert not is_wrong(evidence._replace(events=(event,)), culprits)
    assert judge(Evidence((), ())).certainty == "cannot_tell"
