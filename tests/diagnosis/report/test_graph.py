"""The graph of waiting ranks as boxes."""

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.diagnosis.report.graph import MAX_BOXES, as_svg, boxes
from hccl_kit.diagnosis.verdict.diagnosis import Suspect, Wait
from tests.diagnosis.report.diagnoses import port_taken, suspect


def wait(rank: int, awaited: int | None) -> Wait:
    return Wait(suspect(rank), None if awaited is None else suspect(awaited), None, None, None)


def test_ranks_that_wait_for_the_same_rank_share_a_box() -> None:
    found = boxes([wait(1, 0), wait(2, 0), wait(3, 2), wait(4, None)], suspect(0))
    assert [([one.rank for one in box.ranks], box.column) for box in found] == [([0], 0), ([2], 1), ([1], 1), ([3], 2)]


def test_the_culprit_is_in_the_first_column_and_its_waiters_in_the_next() -> None:
    job = port_taken()
    found = boxes(job.cascade, suspect(27))
    assert [box.ranks[0].rank for box in found] == [27, 0, 8, 16, 24, 1, 9, 17]


def test_a_cycle_is_drawn_once() -> None:
    found = boxes([wait(0, 1), wait(1, 2), wait(2, 0)])
    assert sorted(box.column for box in found) == [0, 1, 2]


def test_boxes_beyond_the_limit_are_counted() -> None:
    svg = as_svg([wait(rank, rank - 1) for rank in range(1, MAX_BOXES + 50)], None)
    assert svg.count('class="box"') == MAX_BOXES
    assert svg.endswith("<p>50 more boxes are not drawn.</p>")


def test_in_a_chain_of_all_ranks_each_has_a_column_of_its_own() -> None:
    found = boxes([Wait(suspect(rank), suspect(rank + 1), None, None, None) for rank in range(2_000)])
    assert [box.column for box in found] == [*range(2_001)]


def test_without_waiting_ranks_there_is_no_graph() -> None:
    assert as_svg([wait(0, None)], suspect(0)) == ""


@given(st.lists(st.tuples(st.integers(0, 20), st.none() | st.integers(0, 20)), max_size=30))
def test_every_waiting_or_awaited_rank_has_exactly_one_box(pairs: list[tuple[int, int | None]]) -> None:
    target = dict(pairs)
    found = boxes([wait(*pair) for pair in target.items()])
    drawn = [one.rank for box in found for one in box.ranks]
    expected = {rank for rank, awaited in target.items() if awaited is not None} | {*target.values()} - {None}
    assert sorted(rank for rank in drawn if rank is not None) == sorted(rank for rank in expected if rank is not None)
    assert all(isinstance(one, Suspect) for box in found for one in box.ranks)
