"""The text report of the cost; docs/place.md has whole ones, which its test prints."""

import pytest

from hccl_kit.place.blocks import cluster_of
from hccl_kit.place.grid import grid_of
from hccl_kit.place.order import place
from hccl_kit.place.text import head, report, volume
from hccl_kit.place.volumes import Model, model_for
from tests.place.clusters import table_of


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
