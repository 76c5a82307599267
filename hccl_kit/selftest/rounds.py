"""Which ranks are measured together: rounds of pairs in which each takes part at most once; and how they are named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined, listed, plural

Pair = tuple[int, int]
"""Two ranks, the lower one first."""


@dataclass(frozen=True, slots=True, order=True)
class Card:
    """A rank of the job, the id of its server, and the physical id of its card."""

    rank: int
    server: str
    device: int


def tournament(count: int) -> list[list[tuple[int, int]]]:
    """Rounds of pairs of 0..count-1 by the circle method: every pair once, in as few rounds as possible.

    Laws: a round has no number twice; all rounds together have every pair once. With an odd count, one pauses in each.
    """
    seats: list[int | None] = [*range(count)] + ([None] if count % 2 else [])
    rounds = []
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        facing = zip(seats[:half], reversed(seats[half:]), strict=True)
        rounds.append([(min(a, b), max(a, b)) for a, b in facing if a is not None and b is not None])
        seats = [seats[0], seats[-1], *seats[1:-1]]  # the first stays, the others move on by one
    return [pairs for pairs in rounds if pairs]


def some_rounds(count: int, most: int | None) -> list[list[tuple[int, int]]]:
    """At most `most` rounds of a tournament. If these are not all, the first have partners at distances 1, 2, 4 and so
    on: then pairs also join the numbers of each half, and a slow path between halves does not look like slow servers.
    """
    everything = tournament(count)
    if most is None or len(everything) <= most:
        return everything
    distances = [1 << power for power in range(max(1, most - 2))]
    rounds = [[(a, a + d) for a in range(count - d) if not a & d] for d in distances if d < count]
    met = set(chain(*rounds))
    free = most - len(rounds)
    for pairs in everything[:: len(everything) // max(1, free)][:free]:
        rounds.append([pair for pair in pairs if pair not in met])
        met.update(pairs)
    return [pairs for pairs in rounds if pairs]


def pair_rounds(cards: Sequence[Card], most: int | None = None) -> list[tuple[Pair, ...]]:
    """Rounds of pairs of ranks, at most `most` of a kind: first inside the servers, all at once, then between them."""
    servers = by_server(cards)
    return [*_inside(servers, most), *_between(servers, most)]


def halves(count: int) -> list[tuple[list[int], list[int]]]:
    """Splits of 0..count-1 into two halves: first the lower and the upper numbers, then ever finer stripes.

    Laws: every number is in one half of each split; any two numbers are apart in at least one split; neither half has
    less than a third of them.
    """
    splits = []
    parts = 2
    while parts < 2 * count:
        stripes = [number * parts // count % 2 for number in range(count)]
        lower, upper = ([number for number in range(count) if stripes[number] == side] for side in (0, 1))
        splits.append((lower, upper))
        parts *= 2
    return splits


def by_server(cards: Sequence[Card]) -> list[list[int]]:
    """The ranks of each server, in the order of their first ranks."""
    return [*grouped((card.server, card.rank) for card in sorted(cards)).values()]


def _inside(servers: Sequence[Sequence[int]], most: int | None) -> Iterator[tuple[Pair, ...]]:
    plans = [some_rounds(len(ranks), most) for ranks in servers]
    for number in range(max(map(len, plans), default=0)):
        yield tuple(
            (ranks[a], ranks[b])
            for ranks, plan in zip(servers, plans, strict=True)
            for a, b in (plan[number] if number < len(plan) else ())
        )


def _between(servers: Sequence[Sequence[int]], most: int | None) -> Iterator[tuple[Pair, ...]]:
    """Card i of a server with card i of the other; a larger server is turned by one each round."""
    for number, plan in enumerate(some_rounds(len(servers), most)):
        pairs = []
        for a, b in plan:
            short, long = sorted((servers[a], servers[b]), key=len)
            start = number % len(long) if len(long) > len(short) else 0
            turned = [*long[start:], *long[:start]]
            pairs += [(min(pair), max(pair)) for pair in zip(short, turned, strict=False)]
        yield tuple(sorted(pairs))


class Names:
    """How ranks are named: "rank 3 (10.0.0.1, card 3)", or the whole server."""

    def __init__(self, cards: Sequence[Card]) -> None:
        self._cards = {card.rank: card for card in cards}
        self._members = grouped((card.server, card.rank) for card in sorted(cards))

    def is_inside(self, pair: Pair) -> bool:
        return self._cards[pair[0]].server == self._cards[pair[1]].server

    def server(self, rank: int) -> str:
        return self._cards[rank].server

    def joined(self, pairs: Sequence[Pair]) -> list[tuple[str, ...]]:
        """The groups of servers, in the order of their ranks, that pairs of ranks join directly or through others."""
        groups = {server: {server} for server in self._members}
        for first, second in pairs:
            group, other = groups[self.server(first)], groups[self.server(second)]
            if group is not other:
                group |= other
                groups.update(dict.fromkeys(other, group))
        places = {server: place for place, server in enumerate(self._members)}
        distinct = dict.fromkeys(tuple(sorted(group, key=places.__getitem__)) for group in groups.values())
        return [group for group in distinct if len(group) > 1]

    def rank(self, rank: int) -> str:
        card = self._cards[rank]
        return Message(
            "selftest.rank", "rank {rank} ({server}, card {card})", rank=rank, server=card.server, card=card.device
        )

    def groups(self, ranks: frozenset[int]) -> list[tuple[int, ...]]:
        """The ranks of whole servers together, others alone. A job of one server has no whole servers."""
        groups = []
        for members in self._members.values():
            if len(self._members) > 1 and ranks.issuperset(members):
                groups.append(tuple(members))
            else:
                groups += [(rank,) for rank in members if rank in ranks]
        return groups

    def ranks(self, ranks: tuple[int, ...]) -> str:
        if len(self._members) == 1 or set(ranks) != set(self._members[self._cards[ranks[0]].server]):
            return self.rank(ranks[0])
        noun = plural("rank", len(ranks))
        numbers = joined(ranks) if len(ranks) <= 4 else listed(ranks, 4)
        server = self._cards[ranks[0]].server
        return Message("selftest.server", "server {server} ({noun} {ranks})", server=server, noun=noun, ranks=numbers)
