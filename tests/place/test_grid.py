"""The groups of ranks are those of Megatron-LM."""

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.place.grid import KINDS, Grid, grid_of


def groups(grid: Grid, kind: str) -> list[list[int]]:
    members: dict[int, list[int]] = {}
    for rank in range(grid.size):
        members.setdefault(grid.group_of(kind, rank), []).append(rank)
    return list(members.values())


def test_the_groups_match_the_documentation_of_megatron_for_16_ranks() -> None:
    grid = grid_of(16, tp=2, pp=4)
    assert grid == Grid(tp=2, pp=4, dp=2, ep=1)
    assert groups(grid, "data") == [[g, g + 2] for g in (0, 1, 4, 5, 8, 9, 12, 13)]
    assert groups(grid, "tensor") == [[g, g + 1] for g in range(0, 16, 2)]
    assert groups(grid, "pipeline") == [[g, g + 4, g + 8, g + 12] for g in range(4)]


def test_expert_groups_divide_a_stage_and_cross_tensor_groups() -> None:
    grid = grid_of(256, tp=8, pp=4, dp=8, ep=16)
    assert groups(grid, "expert")[:2] == [list(range(16)), list(range(16, 32))]
    assert grid.copies == 4


@pytest.mark.parametrize("kind", KINDS)
def test_each_rank_is_in_one_group_of_each_kind(kind: str) -> None:
    found = groups(grid_of(24, tp=2, pp=3, ep=4), kind)
    assert sorted(rank for group in found for rank in group) == list(range(24))
    assert {len(group) for group in found} == {{"tensor": 2, "expert": 4, "data": 4, "pipeline": 3}[kind]}


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"tp": 3}, "16 ranks, which --tp 3 times --pp 1 does not divide"),
        ({"tp": 0}, "--tp must be 1 or more, got 0"),
        ({"dp": 0}, "--dp must be 1 or more, got 0"),
        ({"tp": 2, "dp": 4}, "--tp 2 x --pp 1 x --dp 4 are 8 ranks, the table has 16"),
        ({"tp": 4, "pp": 4, "ep": 2, "dp": 2}, "are 32 ranks"),
        ({"pp": 4, "ep": 8}, "--ep 8 does not divide the 4 ranks of a pipeline stage"),
    ],
)
def test_inconsistent_sizes_are_refused(sizes: dict[str, int], words: str) -> None:
    with pytest.raises(KitError) as refused:
        grid_of(16, **sizes)
    assert words in refused.value.message
