"""Bytes that leave a domain, against a count of each transfer."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.place.cost import leaving, leaving_block
from hccl_kit.place.volumes import Pattern, Traffic

PATTERNS: tuple[Pattern, ...] = ("ring", "chain", "all-to-all")


def transfers(kind: Traffic, size: int) -> Iterator[tuple[int, int]]:
    """Each pair of ranks where the first sends to the second."""
    period = kind.stride * kind.count
    for block in range(0, size, period):
        for first in range(block, block + kind.stride):
            group = range(first, first + period, kind.stride)
            for place, rank in enumerate(group):
                if kind.pattern == "ring":
                    yield rank, group[(place + 1) % kind.count]
                elif kind.pattern == "chain":
                    yield from ((rank, group[other]) for other in (place - 1, place + 1) if 0 <= other < kind.count)
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
