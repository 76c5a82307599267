"""Synthetic results of runs: a healthy network, to which tests add faults."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain

from hccl_kit.selftest.evidence import compute_ratios, link_ratios
from hccl_kit.selftest.measured import Compute, Link, Measured, Split
from hccl_kit.selftest.rounds import Card, Pair, pair_rounds

INSIDE, BETWEEN = 20.0, 2.0
GFLOPS, MEMORY = 100.0, 8.0


def job(servers: int, count: int) -> tuple[Card, ...]:
    """`count` cards on each server."""
    return tuple(Card(rank, f"10.0.0.{1 + rank // count}", rank % count) for rank in range(servers * count))


def healthy(servers: int, count: int, noise: Iterable[float] = ()) -> Measured:
    """Every pair at its speed, multiplied by the next number of `noise`, which is repeated."""
    cards = job(servers, count)
    factors = list(noise) or [1.0]
    pairs = list(chain(*pair_rounds(cards)))
    home = {card.rank: card.server for card in cards}
    links = [
        Link(pair, (INSIDE if home[pair[0]] == home[pair[1]] else BETWEEN) * factors[place % len(factors)])
        for place, pair in enumerate(pairs)
    ]
    compute = [
        Compute(card.rank, GFLOPS * factors[place % len(factors)], MEMORY) for place, card in enumerate(reversed(cards))
    ]
    return Measured("mpi", cards, (), tuple(links), tuple(compute))


def slowed(measured: Measured, concerns: Callable[[Pair], bool], factor: float) -> Measured:
    """Some links with a fraction of their bandwidth."""
    links = [
        replace(link, bandwidth=link.bandwidth * factor) if link.bandwidth is not None and concerns(link.pair) else link
        for link in measured.links
    ]
    return replace(measured, links=tuple(links))


def in_passes(measured: Measured, number: int) -> Measured:
    """The same results, measured in `number` equal passes."""
    links = link_ratios(measured.links, measured.cards, None)
    compute = compute_ratios(measured.compute, None)
    return replace(
        measured,
        links=tuple(replace(link, ratios=(round(links[link.pair], 4),) * number) for link in measured.links),
        compute=tuple(replace(one, ratios=(round(compute[one.rank], 4),) * number) for one in measured.compute),
    )


def broken(measured: Measured, concerns: Callable[[Pair], bool]) -> Measured:
    """Some links without results."""
    links = [
        replace(link, bandwidth=None, problem="timed out") if concerns(link.pair) else link for link in measured.links
    ]
    return replace(measured, links=tuple(links))


def wrong(measured: Measured, concerns: Callable[[Pair], bool]) -> Measured:
    """Some links with wrong results."""
    return replace(
        measured, links=tuple(replace(link, is_wrong=True) if concerns(link.pair) else link for link in measured.links)
    )


def weak(measured: Measured, rank: int, factor: float) -> Measured:
    """One rank that computes at a fraction of its speed."""
    compute = [
        replace(compute, gflops=compute.gflops * factor) if compute.rank == rank else compute
        for compute in measured.compute
    ]
    return replace(measured, compute=tuple(compute))


def halved(*passes: tuple[tuple[float, float], tuple[float, float]]) -> Measured:
    """Two splits of four servers, with the bandwidths of their halves in each pass."""
    servers = [f"10.0.0.{number}" for number in range(1, 5)]
    halves = [((0, 1), (2, 3)), ((0, 2), (1, 3))]
    named = [tuple(tuple(servers[place] for place in half) for half in split) for split in halves]
    splits = [
        Split((first, second), tuple(found[place] for found in passes)) for place, (first, second) in enumerate(named)
    ]
    return replace(healthy(4, 1), splits=tuple(splits))
