"""Verdicts on torch jobs: from the dumps of its flight recorder alone, and together with our own records."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.errors.pytorch import MISMATCH
from hccl_kit.diagnosis.facts import Event, Evidence, Fact, Place, Process
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis
from hccl_kit.diagnosis.verdict.judge import judge
from tests.diagnosis.answers import told

WORLD = "gloo:0 (default_pg)"
SHAPES = ("Float [1024]", "Float [2]")
STEPS = 5
LAST = 2 * STEPS + 1
"""The collective that the job is in: the first one of a step."""
START = 1_000_000.0


def event(rank: int, fact: Fact, time: float, file: str = "hccl_trace_rank_{}") -> Event:
    return Event(Process("run", None, rank), Place(f"run/{file.format(rank)}", 1), time, False, fact)


def trace(
    rank: int,
    size: int,
    last: tuple[str, str | None] | None = ("all_reduce", SHAPES[0]),
    *,
    group: str = WORLD,
    members: tuple[int, ...] | None = None,
    numbers: Iterable[int] = range(1, LAST),
) -> list[Event]:
    """The dump of a rank that is in collective `last`; None if it has left every collective."""
    found = [event(rank, facts.Dumped(rank, size), START)]
    for number in numbers:
        entered = facts.Traced(rank, group, members, number, "all_reduce", SHAPES[(number + 1) % 2], left=True)
        found.append(event(rank, entered, START + number))
    if last:
        operator, shape = last
        number = LAST if list(numbers) else 1
        found.append(
            event(rank, facts.Traced(rank, group, members, number, operator, shape, left=False), START + number)
        )
    return found


def records(rank: int, size: int, *more: Fact, doing: str | None = None, silent_s: float = 0.0) -> list[Event]:
    """Our own records of a rank that does not name its collectives."""
    file = "facts_{}.jsonl"
    alive = facts.Alive(rank, STEPS, doing, START + 20)
    return [
        event(rank, facts.Joined(None, rank, size, "n1"), START, file),
        event(rank, alive, START + 100 - silent_s, file),
        *(event(rank, fact, START + 99, file) for fact in more),
    ]


def judged(*events: Event) -> Diagnosis:
    return judge(Evidence((), events))


@given(st.data())
def test_names_a_rank_that_never_entered(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 9))
    odd = data.draw(st.integers(0, size - 1))
    traces = [one for rank in range(size) for one in trace(rank, size, None if rank == odd else ("all_reduce", "x"))]
    found = judged(*traces)
    assert told(found)[0] == odd
    assert told(found)[1].startswith(f"never entered all_reduce {LAST}, where the others wait: ")
    assert found.certainty == "certain"


def test_four_ranks_in_another_operator_are_suspects() -> None:
    traces = [
        one
        for rank in range(9)
        for one in trace(rank, 9, ("all_gather", None) if 4 <= rank <= 7 else ("all_reduce", SHAPES[0]))
    ]
    found = judged(*traces)
    rank, kind = told(found)
    assert rank == 4
    assert kind.startswith("entered all_gather where the others entered all_reduce of Float [1024]")
    assert kind.endswith(", and so did ranks 5 to 7")
    assert [one.rank for one in found.suspects] == [4, 5, 6, 7]


@given(st.data())
def test_names_a_rank_with_another_size_or_a_skipped_collective(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 9))
    odd = data.draw(st.integers(0, size - 1))
    other = data.draw(st.sampled_from(["Float [1025]", SHAPES[1], "Half [1024]"]))
    traces = [
        one
        for rank in range(size)
        for one in trace(rank, size, ("all_reduce", other if rank == odd else SHAPES[0]))
        + records(rank, size, facts.ProgramEnded(rank, "RuntimeError", "gloo: Connection closed by peer"))
    ]
    found = judged(*traces)
    expected = f"entered all_reduce of {other} where the others entered all_reduce of Float [1024], in step {STEPS}"
    assert told(found) == (odd, expected)


def test_operators_that_may_take_other_sizes_are_compared_by_name_only() -> None:
    traces = [one for rank in range(4) for one in trace(rank, 4, ("gather", None))]
    assert judged(*traces).first_fault is None


def test_a_rank_without_a_dump_may_be_the_culprit() -> None:
    traces = [one for rank in range(3) for one in trace(rank, 4)]
    found = judged(*traces)
    assert told(found) == (3, f"left no record, and the others wait in all_reduce {LAST}")
    assert found.certainty == "likely"
    found = judged(*traces, *(one for rank in range(4) for one in records(rank, 4)))
    assert found.first_fault is None


def test_all_ranks_in_the_same_collective_is_undecided() -> None:
    found = judged(*(one for rank in range(4) for one in trace(rank, 4)))
    assert (found.certainty, found.first_fault) == ("cannot_tell", None)


def test_a_rank_that_waits_in_a_subgroup_is_not_the_cause() -> None:
    """Ranks 0 and 1 wait in the global all_reduce for 2 and 3; rank 2 waits for 3 in a group of two."""
    pair = {"group": "gloo:1 (pair)", "members": (2, 3), "numbers": ()}
    traces = [
        *trace(0, 4),
        *trace(1, 4),
        *trace(2, 4, None),
        *trace(3, 4, None),
        *trace(2, 4, ("broadcast", None), **pair),  # type: ignore[arg-type]
    ]
    found = judged(*traces)
    assert told(found)[0] == 3
    assert found.certainty == "certain"


def test_ranks_that_wait_for_each_other_in_two_groups_are_both_suspects() -> None:
    groups = {name: {"group": name, "members": (0, 1), "numbers": ()} for name in ("hccl:a", "hccl:b")}
    traces = [
        *trace(0, 2, ("all_reduce", "x"), **groups["hccl:a"]),  # type: ignore[arg-type]
        *trace(1, 2, ("all_gather", None), **groups["hccl:b"]),  # type: ignore[arg-type]
    ]
    found = judged(*traces)
    assert told(found) == (
        0,
        "is in all_reduce of x 1 while rank 1 is in all_gather 1 of another group: they wait for each other",
    )
    assert (found.certainty, [one.rank for one in found.suspects]) == ("likely", [0, 1])


def test_our_records_take_precedence() -> None:
    """Ranks that were stopped, ended normally or were killed leave no dump."""
    others = [one for rank in range(2) for one in trace(rank, 3) + records(rank, 3)]
    assert told(judged(*others, *records(2, 3, silent_s=9)))[1].startswith("unresponsive since step 5")
    assert told(judged(*others, *records(2, 3, facts.ProgramEnded(2, "done", ""))))[1].startswith("finished after step")
    killed = event(2, facts.Exited(2, None, 9), START + 99, "launcher_0")
    assert told(judged(*others, *records(2, 3), killed))[1].startswith("was killed by SIGKILL")
    data = judged(*others, *records(2, 3, doing="data"), *trace(2, 3, None))
    assert told(data) == (
        2,
        f"never entered all_reduce {LAST}, where the others wait: it waits for data since step {STEPS}",
    )


def test_a_rank_that_lost_a_gloo_peer_is_a_victim() -> None:
    lost = "[gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:3473: Connection reset by peer"
    events = [one for rank in range(3) for one in records(rank, 3, facts.ProgramEnded(rank, "RuntimeError", lost))]
    own = records(3, 4, facts.ProgramEnded(3, "ValueError", "no image"))
    assert told(judged(*events, *own))[0] == 3


GLOO = facts.Fault(None, "TORCH", MISMATCH, "terminate called ...", is_symptom=True)


def aborted(rank: int, size: int) -> list[Event]:
    exited = event(rank, facts.Exited(rank, None, 6), START + 90, "launcher_0")
    return [*records(rank, size), exited, event(rank, GLOO, START + 90, "rank_{}.log")]


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_rank_that_gloo_ended_is_named_if_all_others_agree(size: int) -> None:
    others = [one for rank in range(size - 1) for one in trace(rank, size) + records(rank, size)]
    found = judged(*others, *aborted(size - 1, size))
    assert told(found) == (
        size - 1,
        f"entered another collective than all_reduce of Float [1024], which the others entered as number {LAST},"
        f" in step {STEPS}",
    )
    assert found.certainty == "likely"


def test_the_other_one_was_not_due() -> None:
    found = judged(*trace(0, 2, ("all_reduce", "Float [1025]")), *records(0, 2), *aborted(1, 2))
    assert told(found)[0] == 0
    assert "entered all_reduce of Float [1025] as number 11, which was not expected next" in told(found)[1]


@pytest.mark.parametrize(
    ("expected", "odd"),
    [
        ({2: 344}, [1, 2]),  # the other one has printed nothing
        ({1: 684, 2: 344}, [2]),
        ({1: 344, 2: 684}, [1]),
        ({1: 684, 2: 676}, [1, 2]),  # both are of 4096 bytes
    ],
)
def test_of_two_ranks_the_one_that_expected_another_size_is_named(expected: dict[int, int], odd: list[int]) -> None:
    """Three ranks send 4096 bytes as five pieces of 684 and one of 676."""
    sizes = [event(rank, facts.Oversized(size), START + 90, "rank_{}.log") for rank, size in expected.items()]
    found = judged(*trace(0, 3), *records(0, 3), *aborted(1, 3), *aborted(2, 3), *sizes)
    if len(odd) == 1:
        assert (told(found)[0], found.certainty) == (odd[0], "likely")
    else:
        assert [one.rank for one in found.suspects] == odd


def test_two_ranks_without_a_dump_are_both_suspects() -> None:
    found = judged(*trace(0, 3), *records(0, 3), *records(1, 3), *aborted(2, 3))
    assert (found.certainty, found.first_fault) == ("cannot_tell", None)
    assert [one.rank for one in found.suspects] == [1, 2]
    assert "ranks 1, 2 may have sent it" in found.reason


def test_a_rank_whose_dump_is_damaged_may_have_entered_more() -> None:
    whole = [one for rank in range(3) for one in trace(rank, 4)]
    assert judged(*whole, *trace(3, 4, None)).certainty == "certain"
    (dumped, *entries) = trace(3, 4, None)
    assert isinstance(dumped.fact, facts.Dumped)
    cut = dumped._replace(fact=dumped.fact._replace(is_cut=True))
    assert judged(*whole, cut, *entries).first_fault is None
    assert judged(*whole, cut).first_fault is None
    assert judge(Evidence((), (cut,))).first_fault is None


def test_a_shape_that_is_not_known_is_not_another_one() -> None:
    ranks = [trace(rank, 3, ("all_reduce", None if rank == 1 else SHAPES[0])) for rank in range(3)]
    assert judged(*[one for rank in ranks for one in rank]).first_fault is None
