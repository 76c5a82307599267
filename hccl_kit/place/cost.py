"""Bytes that leave the domains of a cluster: its card pairs, servers and super pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import starmap
from operator import ne

from hccl_kit.place.volumes import Traffic


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
