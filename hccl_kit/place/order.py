"""The best order of the ranks in which servers and super pods are whole, and what an order costs.

Ranks of one server are consecutive, and so are those of one super pod (HK406, HK407). Then what leaves a block depends
on its first and last rank only, so that the best order of blocks is found by dynamic programming over how many of
each shape have been placed: not tried in all orders, but with the same result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import starmap
from math import prod
from operator import ne

from hccl_kit.place.blocks import Block, Cluster
from hccl_kit.place.volumes import Traffic

MAX_WORK = 2_000_000
"""Placements that are compared to arrange the parts of a block, a few seconds; for more, two orders are tried."""

Cost = tuple[int, ...]
"""Bytes that leave the domains of each level, the outermost first; orders are compared by the first that differs."""


@dataclass(frozen=True)
class Placement:
    """An order of the ranks and its cost: `order` has for each new rank that of the table.

    `is_best` is False if there were too many shapes of servers to compare all whole orders. `is_kept` says that no
    order was found that is better than that of the table.
    """

    order: tuple[int, ...]
    cost: Cost
    given: Cost
    is_best: bool
    is_kept: bool


def place(cluster: Cluster, kinds: Sequence[Traffic]) -> Placement:
    """The best order with whole blocks, or that of the table if none is better."""
    domains = cluster.domains()
    given = tuple(sum(leaving(kind, level) for kind in kinds) for level in domains)
    search = _Search(tuple(kinds), len(cluster.levels))
    cost, arranged = search.best(Block(cluster.blocks), 0, -1)
    kept = given <= cost
    order = tuple(range(len(domains[0]))) if kept else tuple(arranged.all_ranks())
    return Placement(order, given if kept else cost, given, not search.gave_up, kept)


def costs(cluster: Cluster, kinds: Sequence[Traffic], order: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """For each kind the bytes that leave the domains of each level, if the ranks stand in that order."""
    levels = [[level[old] for old in order] for level in cluster.domains()]
    return tuple(tuple(leaving(kind, level) for level in levels) for kind in kinds)


@dataclass
class _Search:
    """The best arrangement of blocks by shape and first rank; blocks of one shape are equal but for their names."""

    kinds: tuple[Traffic, ...]
    depth: int
    gave_up: bool = False
    shapes: dict[object, int] = field(default_factory=dict)
    known: dict[tuple[int, int], tuple[Cost, tuple[int, ...]]] = field(default_factory=dict)
    shape_of: dict[int, int] = field(default_factory=dict)
    work: dict[int, int] = field(default_factory=dict)

    def best(self, block: Block, start: int, level: int) -> tuple[Cost, Block]:
        """The cost of a block whose first rank is `start`, and the block with its parts in the best order."""
        cost, sequence = self._solve(block, start, level)
        if not block.parts:
            return cost, block
        waiting = self._by_shape(block)
        parts = []
        for shape in sequence:
            part = waiting[shape].pop()
            parts.append(self.best(part, start, level + 1)[1])
            start += part.size
        return cost, Block(tuple(parts))

    def _solve(self, block: Block, start: int, level: int) -> tuple[Cost, tuple[int, ...]]:
        key = (self._shape(block), start)
        if key not in self.known:
            inner, sequence = self._arranged(block, start, level + 1) if block.parts else ((0,) * self.depth, ())
            block_cost = leaving_block(self.kinds, start, start + block.size) if level >= 0 else 0
            cost = tuple([value + (block_cost if place == level else 0) for place, value in enumerate(inner)])
            self.known[key] = cost, sequence
        return self.known[key]

    def _arranged(self, block: Block, start: int, level: int) -> tuple[Cost, tuple[int, ...]]:
        """The least cost of the parts of a block, and the order of their shapes."""
        waiting = self._by_shape(block)
        if len(waiting) > 1 and self._work_of_all(block) > MAX_WORK:
            self.gave_up = True
            as_given = [self._shape(part) for part in block.parts]
            by_size = sorted(as_given, key=lambda shape: -waiting[shape][0].size)
            return min(self._one_by_one(waiting, sequence, start, level) for sequence in (as_given, by_size))
        return self._compared(waiting, start, level)

    def _work(self, block: Block) -> int:
        """About how many placements are compared to arrange a block at one place."""
        shape = self._shape(block)
        if shape not in self.work:
            work = self._work_of_all(block)
            if work > MAX_WORK:
                work = min(work, 2 * sum(map(self._work, block.parts)))
            self.work[shape] = work
        return self.work[shape]

    def _work_of_all(self, block: Block) -> int:
        """As `_work`, if all orders of the parts are compared: a part is solved once for each of its first ranks."""
        waiting = self._by_shape(block)
        states = prod(len(blocks) + 1 for blocks in waiting.values())
        inner = sum(self._work(blocks[0]) for blocks in waiting.values())
        return 1 + states * len(waiting) + min(states, block.size) * inner

    def _one_by_one(
        self, waiting: Mapping[int, Sequence[Block]], sequence: Sequence[int], start: int, level: int
    ) -> tuple[Cost, tuple[int, ...]]:
        total: Cost = (0,) * self.depth
        for shape in sequence:
            total = _sum(total, self._solve(waiting[shape][0], start, level)[0])
            start += waiting[shape][0].size
        return total, tuple(sequence)

    def _compared(self, waiting: Mapping[int, Sequence[Block]], start: int, level: int) -> tuple[Cost, tuple[int, ...]]:
        """The least cost, by dynamic programming over the number of parts of each shape that are placed.

        Each state keeps its least cost and the shape that was placed last.
        """
        shapes = tuple(waiting)
        firsts = tuple(waiting[shape][0] for shape in shapes)
        most = tuple(len(waiting[shape]) for shape in shapes)
        none = (0,) * len(shapes)
        layer: dict[tuple[int, ...], Cost] = {none: (0,) * self.depth}
        last: dict[tuple[int, ...], int] = {}
        for _ in range(sum(most)):
            after: dict[tuple[int, ...], Cost] = {}
            for placed, cost in layer.items():
                here = start + sum(number * first.size for number, first in zip(placed, firsts, strict=True))
                for place, first in enumerate(firsts):
                    if placed[place] == most[place]:
                        continue
                    state = (*placed[:place], placed[place] + 1, *placed[place + 1 :])
                    whole = _sum(cost, self._solve(first, here, level)[0])
                    if state not in after or whole < after[state]:
                        after[state], last[state] = whole, place
            layer = after
        return layer[most], tuple(shapes[place] for place in _back(most, last))[::-1]

    def _by_shape(self, block: Block) -> dict[int, list[Block]]:
        """The parts of a block by shape, in the order of the table from the last to the first."""
        groups: dict[int, list[Block]] = {}
        for part in block.parts:
            groups.setdefault(self._shape(part), []).append(part)
        return {shape: blocks[::-1] for shape, blocks in groups.items()}

    def _shape(self, block: Block) -> int:
        """A number that blocks share if they consist of the same parts in any order."""
        if id(block) not in self.shape_of:
            inner = frozenset(Counter(map(self._shape, block.parts)).items())
            self.shape_of[id(block)] = self.shapes.setdefault((len(block.ranks), inner), len(self.shapes))
        return self.shape_of[id(block)]


def _back(state: tuple[int, ...], last: Mapping[tuple[int, ...], int]) -> Iterator[int]:
    """The shapes that were placed, from the last to the first."""
    while any(state):
        place = last[state]
        yield place
        state = (*state[:place], state[place] - 1, *state[place + 1 :])


def _sum(cost: Cost, other: Cost) -> Cost:
    return tuple([a + b for a, b in zip(cost, other, strict=True)])


def leaving(traffic: Traffic, domains: Sequence[int]) -> int:
    """The bytes that leave a domain in a step; `domains` has the domain of every rank."""
    if traffic.pattern == "all-to-all":
        blocks = (domains[start : start + traffic.count] for start in range(0, len(domains), traffic.count))
        apart = sum(traffic.count**2 - sum(held**2 for held in Counter(block).values()) for block in blocks)
    else:
        targets = _targets(traffic, len(domains))
        apart = sum(starmap(ne, ((domains[rank], domains[target]) for rank, target in targets)))
    return apart * traffic.sent


def leaving_block(traffic: Iterable[Traffic], start: int, end: int) -> int:
    """The bytes that leave a domain with the ranks from `start` to `end`, of all kinds."""
    return sum(_leaving_block(kind, start, end) for kind in traffic)


def _leaving_block(kind: Traffic, start: int, end: int) -> int:
    period = kind.stride * kind.count
    apart = 0
    for first in range(start - start % period, end, period):
        low, high = max(start, first) - first, min(end, first + period) - first
        if high - low == period:
            continue
        if kind.pattern == "all-to-all":
            apart += (high - low) * (kind.count - high + low)
        else:
            apart += sum(1 for place in range(low, high) for other in _next(kind, place) if not low <= other < high)
    return apart * kind.sent


def _next(kind: Traffic, place: int) -> Iterator[int]:
    """Where a rank sends to; both are places in the stride * count ranks of the groups."""
    period = kind.stride * kind.count
    after = place + kind.stride
    if kind.pattern == "ring":
        yield after % period
        return
    if after < period:
        yield after
    if place >= kind.stride:
        yield place - kind.stride


@lru_cache(maxsize=16)
def _targets(kind: Traffic, size: int) -> tuple[tuple[int, int], ...]:
    """Each rank with those to which it sends in a ring or chain."""
    period = kind.stride * kind.count
    return tuple((rank, rank - rank % period + other) for rank in range(size) for other in _next(kind, rank % period))
