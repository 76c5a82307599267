"""The text report of the cost."""

import pytest

from hccl_kit.place.blocks import cluster_of
from hccl_kit.place.grid import grid_of
from hccl_kit.place.order import place
from hccl_kit.place.text import head, report, volume
from hccl_kit.place.volumes import Model, model_for, traffic
from tests.place.clusters import table_of, whole


def reported(ranks: list[int] | None = None, **sizes: int) -> list[str]:
    cluster = cluster_of(table_of(whole(1, 2, 2), ranks, has_pods=False))
    grid = grid_of(4, **sizes)
    kinds = traffic(grid, model_for(grid, Model()))
    return report(cluster, kinds, place(cluster, kinds))


def test_reports_an_order_that_is_kept() -> None:
    assert reported(tp=2) == [
        "order of the table  groups  sent in a step  leaves card pair  leaves server",
        "tensor              2 of 2         2.5 TiB               0 B            0 B",
        "data                2 of 2       480.0 GiB         480.0 GiB      480.0 GiB",
        "all                                3.0 TiB         480.0 GiB      480.0 GiB",
        "",
        "the order of the table is kept: no order with whole servers costs less",
    ]


def test_reports_a_better_order() -> None:
    lines = reported([0, 2, 1, 3], tp=2)
    assert lines[5:] == [
        "better order  groups  sent in a step  leaves card pair  leaves server",
        "tensor        2 of 2         2.5 TiB               0 B            0 B",
        "data          2 of 2       480.0 GiB         480.0 GiB      480.0 GiB",
        "all                          3.0 TiB         480.0 GiB      480.0 GiB",
        "",
        "2 ranks of 4 on another device; 2.0 TiB less leave a server, 2.0 TiB less leave a card pair",
    ]


def test_reports_that_groups_of_one_rank_send_nothing() -> None:
    cluster = cluster_of(table_of([[[0]]], has_pods=False))
    assert report(cluster, (), place(cluster, ())) == ["groups of one rank send nothing, so every order costs the same"]


def test_the_header_names_the_sizes() -> None:
    grid = grid_of(64, tp=4, pp=2, ep=8)
    assert head("t.json", grid, model_for(grid, Model())) == [
        "t.json: 64 ranks = tensor 4 x data 8 x pipeline 2, expert 8",
        "model: hidden 8192, 80 layers, sequence 4096, 32 micro-batches of 1, 8 experts, 2 for each token",
    ]
    assert head("t.json", grid_of(2), Model())[0] == "t.json: 2 ranks = tensor 1 x data 2 x pipeline 1"


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (1 << 40, "1.0 TiB"), (5 << 70, "5120.0 EiB")],
)
def test_formats_volumes(size: int, shown: str) -> None:
    assert volume(size) == shown
