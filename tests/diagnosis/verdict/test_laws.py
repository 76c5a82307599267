"""Whatever happens to the logs, the verdict is right or "cannot tell", and never wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.diagnosis.facts import Event, Evidence, Fact, Joined, LogFile, Place, Process
from hccl_kit.diagnosis.verdict.judge import judge
from tests.diagnosis.answers import fault_of, named
from tests.diagnosis.verdict.jobs import CARDS, PLANTED, Logs, address, host, two_programs, two_releases

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
    """The logs without the files of these names."""
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
    if first.suspect.rank is None and card is None:  # one of the processes of a host
        return server not in {name for rank in culprits for name in (host(rank), f"node-{rank // CARDS}")}
    return first.suspect.rank not in culprits if first.suspect.rank is not None else (server, card) not in cards


@pytest.mark.parametrize("kind", sorted(PLANTED))
def test_names_the_culprit(kind: str) -> None:
    evidence, culprits = planted(kind)
    diagnosis = judge(evidence)
    assert named(diagnosis) in culprits
    assert fault_of(diagnosis).suspect in diagnosis.suspects
    assert {suspect.rank for suspect in diagnosis.suspects} <= culprits
    assert diagnosis.fix
    assert diagnosis.evidence


@given(KINDS, st.integers(0, 2), st.floats(-1800, 1800))
def test_a_wrong_clock_does_not_change_the_verdict(kind: str, number: int, seconds: float) -> None:
    evidence, _ = planted(kind)
    names = workers(evidence)
    moved = judge(shifted(evidence, names[number % len(names)], seconds))
    straight = judge(evidence)
    assert fault_of(moved).suspect == fault_of(straight).suspect
    assert moved.certainty == straight.certainty


@given(KINDS, st.integers(0, 2), st.floats(-1800, 1800), st.booleans())
def test_an_undetectable_wrong_clock_never_gives_a_wrong_verdict(
    kind: str, number: int, seconds: float, marks: bool
) -> None:
    """Also without the shared events by which clocks are compared."""
    evidence, culprits = planted(kind)
    names = workers(evidence)
    shift = shifted(evidence, names[number % len(names)], seconds)
    bare = [event for event in shift.events if marks or not getattr(event.fact, "complete", False)]
    assert not is_wrong(shift._replace(events=tuple(bare)), culprits)


@given(KINDS, st.integers(0, 2), st.floats(-1800, 1800))
def test_missing_logs_of_a_worker_never_give_a_wrong_verdict(kind: str, number: int, seconds: float) -> None:
    evidence, culprits = planted(kind)
    names = workers(evidence)
    gone = names[number % len(names)]
    left = without(evidence, {file.file for file in evidence.files if file.process.worker == gone})
    assert not is_wrong(left, culprits)
    assert not is_wrong(shifted(left, names[0], seconds), culprits)


@given(KINDS, st.integers(0, 11))
def test_a_missing_log_never_gives_a_wrong_verdict(kind: str, number: int) -> None:
    evidence, culprits = planted(kind)
    name = evidence.files[number % len(evidence.files)].file
    left = without(evidence, {name})
    assert not is_wrong(left, culprits)


@given(KINDS, st.integers(0, 11), st.integers(0, 8))
def test_a_truncated_log_never_gives_a_wrong_verdict(kind: str, number: int, lines: int) -> None:
    evidence, culprits = planted(kind)
    name = evidence.files[number % len(evidence.files)].file
    files = tuple(file._replace(cut="ends in a line") if file.file == name else file for file in evidence.files)
    events = tuple(event for event in evidence.events if event.place.file != name or event.place.line <= lines)
    assert not is_wrong(Evidence(files, events), culprits)


@given(
    st.sampled_from([(two_programs, {2}), (two_releases, {4, 5, 6, 7})]),
    st.sets(st.integers(0, 11)),
    st.sets(st.integers(0, 11), max_size=4),
    st.floats(-1800, 1800),
)
def test_of_two_that_may_be_the_cause_lost_logs_do_not_make_the_other_one_the_answer(
    case: tuple[Callable[[], Logs], set[int]], lost: set[int], cut: set[int], seconds: float
) -> None:
    """Two programs fail, or two releases differ: some logs are lost, and others lose their errors."""
    kind, culprits = case
    evidence = shifted(kind().evidence(), "node-1", seconds)
    files = {file.process.pid - 100: file.file for file in evidence.files if file.process.pid}
    left = without(evidence, {files[rank] for rank in lost & files.keys()})
    ends = {files[rank] for rank in cut & files.keys()}
    kept = tuple(file._replace(cut="ends in a line") if file.file in ends else file for file in left.files)
    events = tuple(event for event in left.events if event.place.file not in ends or not event.is_error)
    diagnosis = judge(Evidence(kept, events))
    assert diagnosis.first_fault is None or culprits & {one.rank for one in diagnosis.suspects}


@given(KINDS, st.randoms(use_true_random=False))
def test_the_order_of_files_does_not_matter(kind: str, shuffle: random.Random) -> None:
    evidence, _ = planted(kind)
    files = list(evidence.files)
    shuffle.shuffle(files)
    events = [event for file in files for event in evidence.events if event.place.file == file.file]
    mixed = judge(Evidence(tuple(files), tuple(events)))
    straight = judge(evidence)
    assert fault_of(mixed).suspect == fault_of(straight).suspect


@given(st.integers(0, 2), st.floats(-1800, 1800))
def test_the_offset_of_a_clock_is_shown(number: int, seconds: float) -> None:
    evidence, _ = planted("cut off")
    name = workers(evidence)[number]
    offsets = judge(shifted(evidence, name, seconds)).clock_offsets
    server = host(4 * number)
    others = [offsets.get(host(4 * other), offsets.get(f"node-{other}", 0.0)) for other in range(3) if other != number]
    own = offsets.get(server, offsets.get(name, 0.0))
    assert own - others[0] == pytest.approx(seconds, abs=1e-3)
    assert others[0] == pytest.approx(others[1])


@given(st.integers(0, 2), st.floats(-1800, 1800))
def test_without_a_shared_event_the_offset_is_estimated_from_links(number: int, seconds: float) -> None:
    """As in a job with a rank table. The verdict does not depend on it: a server that started late looks the same."""
    evidence, _ = planted("cut off")
    evidence = evidence._replace(
        events=tuple(one for one in evidence.events if not (isinstance(one.fact, Joined) and one.fact.complete))
    )
    name = workers(evidence)[number]
    diagnosis = judge(shifted(evidence, name, seconds))
    own, other = (diagnosis.clock_offsets.get(host(CARDS * one), 0.0) for one in (number, (number + 1) % 3))
    assert own - other == pytest.approx(seconds, abs=1e-3)
    assert diagnosis.links == 8
    assert any("both ends of links" in note for note in diagnosis.notes) == (abs(seconds) > 10)
    assert diagnosis.suspects == judge(evidence).suspects


NUMBERS = st.one_of(st.integers(-1, 12), st.just(1 << 40))
NAMES = st.sampled_from(["", "g", "h", host(0), address(1), "\x1b[2J"])
FACTS = st.deferred(lambda: st.one_of([anything_of(kind) for kind in get_args(Fact)]))


def anything_of(kind: type[Fact]) -> st.SearchStrategy[Fact]:
    hints = get_type_hints(kind)
    return st.builds(kind, **{name: anything_like(hint) for name, hint in hints.items()})


def anything_like(hint: object) -> st.SearchStrategy[object]:
    plain: dict[object, st.SearchStrategy[object]] = {
        int: NUMBERS,
        str: NAMES,
        bool: st.booleans(),
        float: st.floats(-1e9, 1e9),
        type(None): st.none(),
    }
    if hint in plain:
        return plain[hint]
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if get_origin(hint) is tuple:
        return st.lists(anything_like(get_args(hint)[0]), max_size=4).map(tuple)
    if get_args(hint):
        return st.one_of([anything_like(one) for one in get_args(hint)])
    assert isinstance(hint, type)
    return st.builds(hint, **{name: anything_like(one) for name, one in get_type_hints(hint).items()})


PROCESSES = st.builds(
    Process, st.sampled_from(["a", "b"]), st.one_of(st.none(), st.integers(1, 4)), st.one_of(st.none(), NUMBERS)
)
EVENTS = st.builds(
    Event,
    PROCESSES,
    st.builds(Place, st.sampled_from(["a/1.log", "b/device-3/x.log"]), st.integers(1, 9)),
    st.one_of(st.none(), st.floats(0, 2e9)),
    st.booleans(),
    FACTS,
)


@given(st.lists(EVENTS, max_size=12), st.lists(PROCESSES, max_size=4))
def test_any_facts_give_a_verdict(events: list[Event], processes: list[Process]) -> None:
    files = tuple(LogFile(process, f"{n}.log", 1, None, None) for n, process in enumerate(processes))
    diagnosis = judge(Evidence(files, tuple(events)))
    if diagnosis.certainty == "cannot_tell":
        assert diagnosis.first_fault is None
        assert diagnosis.reason
    else:
        assert fault_of(diagnosis).suspect == diagnosis.suspects[0]
    assert diagnosis.fix
    assert len(set(diagnosis.suspects)) == len(diagnosis.suspects)


@given(KINDS, st.integers(0, 2), st.floats(-1800, 1800))
def test_logs_of_several_servers_in_one_folder_have_separate_clocks(kind: str, number: int, seconds: float) -> None:
    evidence, culprits = planted(kind)
    names = workers(evidence)
    evidence = shifted(evidence, names[number % len(names)], seconds)
    files = tuple(file._replace(process=file.process._replace(worker="logs")) for file in evidence.files)
    events = tuple(event._replace(process=event.process._replace(worker="logs")) for event in evidence.events)
    assert not is_wrong(Evidence(files, events), culprits)


def test_one_line_of_each_log_is_enough_for_a_verdict() -> None:
    """Nearly empty logs cause no crash."""
    for kind in PLANTED:
        evidence, culprits = planted(kind)
        for event in evidence.events:
            assert not is_wrong(evidence._replace(events=(event,)), culprits)
    assert judge(Evidence((), ())).certainty == "cannot_tell"
