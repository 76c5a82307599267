"""Volumes against values computed by hand from the published formulas."""

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.place.grid import Grid
from hccl_kit.place.volumes import Model, Traffic, model_for, traffic

SMALL = Model(hidden=4, layers=6, sequence=8, micro_batch=1, micro_batches=5)
"""One micro-batch has 8 x 4 activations of 2 bytes: 64 bytes."""


def sent(grid: Grid, model: Model) -> dict[str, int]:
    return {kind.kind: kind.sent for kind in traffic(grid, model_for(grid, model))}


def test_volumes_of_a_dense_model() -> None:
    found = sent(Grid(tp=2, pp=3, dp=4, ep=1), SMALL)
    assert found == {
        "tensor": 5 * 2 * 4 * 64,  # micro-batches, layers of a stage, all-reduces, 2 * (2-1)/2 of 64 bytes
        "data": 2 * 3 * (2 * 12 * 16 // 2 * 4) // 4,  # 2 * (4-1)/4 of 2 layers of 12 h h weights in two halves
        "pipeline": 5 * 64 // 2,
    }


def test_volumes_of_a_model_with_experts() -> None:
    found = sent(Grid(tp=2, pp=3, dp=4, ep=4), Model(4, 6, 8, 1, 5, experts=8, top_k=2))
    assert found == {
        "tensor": 5 * 2 * 2 * 64,
        "expert": 5 * 2 * 4 * 2 * 64 // (2 * 4),  # micro-batches, layers, all-to-alls, experts of a token, t * e
        "data": 2 * 3 * (2 * 4 * 16 // 2 * 4) // 4,
        "expert data": 2 * 1 * (2 * 2 * 8 * 16 // 2 * 4) // 2,  # two copies of 2 layers of 2 experts of 8 h h / 2
        "pipeline": 5 * 64 // 2,
    }


def test_the_number_of_layers_is_rounded_up_to_a_multiple_of_the_stages() -> None:
    assert sent(Grid(2, 3, 1, 1), Model(layers=7))["tensor"] == sent(Grid(2, 3, 1, 1), Model(layers=9))["tensor"]


def test_groups_of_one_rank_send_nothing() -> None:
    assert traffic(Grid(1, 1, 1, 1), Model()) == ()


@pytest.mark.parametrize(
    ("pattern", "total"),
    [("ring", 12), ("chain", 3 * 2 * 3), ("all-to-all", 3 * 4 * 3)],
)
def test_the_total_of_twelve_ranks_in_groups_of_four(pattern: str, total: int) -> None:
    assert Traffic("x", pattern, 1, 4, 10).total(12) == 10 * total  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Model(hidden=0), "--hidden must be 1 or more, got 0"),
        (Model(micro_batches=0), "--micro-batches must be 1 or more"),
        (Model(experts=6), "--experts 6 cannot be divided among --ep 4 ranks"),
        (Model(experts=4, top_k=5), "--top-k 5 is more than --experts 4"),
    ],
)
def test_a_model_that_does_not_match_the_grid_is_refused(model: Model, words: str) -> None:
    with pytest.raises(KitError) as refused:
        model_for(Grid(2, 1, 4, 4), model)
    assert words in refused.value.message
