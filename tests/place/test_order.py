"""The placement: as good as the best of all orders with complete blocks, and never worse than that of the table."""

import random
import time
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hccl_kit.place import order
from hccl_kit.place.blocks import Block, Cluster, cluster_of, reordered
from hccl_kit.place.grid import Grid, grid_of
from hccl_kit.place.order import Cost, costs, leaving, leaving_block, place
from hccl_kit.place.volumes import Model, Pattern, Traffic, model_for, traffic
from hccl_kit.table.model import RankTable
from tests.place.clusters import small_tables, table_of, whole


def arrangements(blocks: tuple[Block, ...]) -> Iterator[tuple[int, ...]]:
    """Every order of the ranks in which all blocks are contiguous."""
    for ordered in permutations(blocks):
        parts = [[*arrangements(block.parts)] if block.parts else [block.ranks] for block in ordered]
        for chosen in product(*parts):
            yield tuple(rank for part in chosen for rank in part)


def cost_of(cluster: Cluster, kinds: tuple[Traffic, ...], ranks: tuple[int, ...]) -> Cost:
    return tuple(sum(leaving(kind, [level[old] for old in ranks]) for kind in kinds) for level in cluster.domains())


def grids(size: int) -> list[Grid]:
    divisors = [number for number in range(1, size + 1) if size % number == 0]
    found = [(tp, pp) for tp in divisors for pp in divisors if size % (tp * pp) == 0]
    return [
        grid_of(size, tp=tp, pp=pp, ep=ep) for tp, pp in found for ep in divisors if (size // pp) % ep == 0 and ep < 7
    ]


@settings(max_examples=40, deadline=None)
@given(small_tables(), st.data())
def test_the_cost_equals_the_minimum_over_all_orders_with_whole_blocks(table: RankTable, data: st.DataObject) -> None:
    grid = data.draw(st.sampled_from(grids(table.world_size)))
    kinds = traffic(grid, model_for(grid, Model(64, 8, 32, 1, 2)))
    cluster = cluster_of(table)
    found = place(cluster, kinds)
    least = min(cost_of(cluster, kinds, ranks) for ranks in arrangements(cluster.blocks))
    assert found.is_best
    assert found.given == cost_of(cluster, kinds, tuple(range(table.world_size)))
    assert found.cost == min(found.given, least) == cost_of(cluster, kinds, found.order)
    assert found.is_kept == (found.given <= least)
    assert sorted(found.order) == list(range(table.world_size))
    again = place(cluster_of(reordered(table, found.order)), kinds)
    assert (again.given, again.is_kept) == (found.cost, True), "the table that is written has that cost"


def test_a_server_of_another_size_is_moved_to_keep_tensor_groups_together() -> None:
    table = table_of([[[0, 1], [0, 1, 2, 3], [0, 1], [0, 1, 2, 3]]], has_pods=False)
    grid = grid_of(12, tp=4)
    kinds = traffic(grid, model_for(grid, Model()))
    cluster = cluster_of(table)
    found = place(cluster, kinds)
    assert found.cost[0] < found.given[0]
    servers = dict(zip(cluster.levels, cluster.domains(), strict=True))["server"]
    assert [len({servers[rank] for rank in found.order[start : start + 4]}) for start in (0, 4, 8)].count(1) == 2


def test_a_given_order_better_than_all_orders_with_whole_blocks_is_kept() -> None:
    """Pipeline neighbours on one server, which is only possible with interleaved ranks."""
    table = table_of(whole(1, 2, 2), [0, 2, 1, 3], has_pods=False)
    kinds = (Traffic("pipeline", "chain", 2, 2, 5),)
    found = place(cluster_of(table), kinds)
    assert (found.is_kept, found.order, found.cost[0]) == (True, (0, 1, 2, 3), 0)


def test_the_rows_of_the_kinds_add_up_to_the_cost() -> None:
    table = table_of(whole(2, 4, 8), random.Random(3).sample(range(64), 64))
    grid = grid_of(64, tp=4, pp=2, ep=8)
    kinds = traffic(grid, model_for(grid, Model()))
    cluster = cluster_of(table)
    found = place(cluster, kinds)
    assert len(kinds) == 5
    assert tuple(map(sum, zip(*costs(cluster, kinds, found.order), strict=True))) == found.cost < found.given


def test_with_too_many_shapes_the_order_is_improved_but_not_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "MAX_WORK", 50)
    table = table_of([[list(range(cards)) for cards in (1, 4, 3, 4)]], has_pods=False)
    grid = grid_of(12, tp=4)
    found = place(cluster_of(table), traffic(grid, Model()))
    assert not found.is_best
    assert not found.is_kept, "the largest first is the better of the two"
    assert found.cost < found.given


def test_super_pods_that_all_differ_are_placed_quickly() -> None:
    """There are millions of orders."""
    sizes = random.Random(11)
    pods = [[list(range(sizes.randint(1, 8))) for _ in range(sizes.randint(40, 60))] for _ in range(24)]
    size = sum(len(server) for pod in pods for server in pod)
    table = table_of(pods, random.Random(13).sample(range(size), size))
    start = time.process_time()
    found = place(cluster_of(table), (Traffic("data", "ring", 1, size, 1), Traffic("tensor", "ring", 1, size, 2)))
    assert time.process_time() - start < 20
    assert not found.is_best
    assert found.cost < found.given


def test_ten_thousand_cards_are_placed_quickly() -> None:
    """It takes less than one second; the limit allows for a busy machine."""
    table = table_of(whole(13, 48, 16), random.Random(7).sample(range(9984), 9984))
    grid = grid_of(9984, tp=8, pp=4, ep=8)
    start = time.process_time()
    found = place(cluster_of(table), traffic(grid, model_for(grid, Model())))
    assert time.process_time() - start < 10
    assert found.is_best
    assert found.cost < found.given


PATTERNS: tuple[Pattern, ...] = ("ring", "chain", "all-to-all")


def transfers(kind: Traffic, size: int) -> Iterator[tuple[int, int]]:
    """Each pair of ranks where the first sends to the second."""
    period = kind.stride * kind.count
    for block in range(0, size, period):
        for first in range(block, block + kind.stride):
            group = range(first, first + period, kind.stride)
            for at, rank in enumerate(group):
                if kind.pattern == "ring":
                    yield rank, group[(at + 1) % kind.count]
                elif kind.pattern == "chain":
                    yield from ((rank, group[other]) for other in (at - 1, at + 1) if 0 <= other < kind.count)
                else:
                    yield from ((rank, other) for other in group if other != rank)


def counted(kind: Traffic, domains: Sequence[int]) -> int:
    return sum(kind.sent for one, two in transfers(kind, len(domains)) if domains[one] != domains[two])


@st.composite
def kinds(draw: st.DrawFn) -> Traffic:
    pattern = draw(st.sampled_from(PATTERNS))
    stride = 1 if pattern == "all-to-all" else draw(st.integers(1, 4))
    return Traffic("x", pattern, stride, draw(st.integers(2, 5)), draw(st.integers(1, 9)))


@given(kinds(), st.integers(1, 3), st.data())
def test_outgoing_bytes_are_the_sum_of_transfers_between_domains(
    kind: Traffic, blocks: int, data: st.DataObject
) -> None:
    size = kind.stride * kind.count * blocks
    domains = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    assert leaving(kind, domains) == counted(kind, domains)
    assert kind.total(size) == counted(kind, range(size))


def test_outgoing_bytes_of_any_block_of_ranks() -> None:
    for pattern, stride, count in product(PATTERNS, (1, 2, 3), (2, 3, 4)):
        kind = Traffic("x", pattern, 1 if pattern == "all-to-all" else stride, count, 7)
        size = kind.stride * count * 2
        sent = list(transfers(kind, size))
        for start, end in combinations(range(size + 1), 2):
            out = sum(kind.sent for sender, taker in sent if start <= sender < end and not start <= taker < end)
            assert leaving_block([kind], start, end) == out
