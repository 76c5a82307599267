"""How a verdict names ranks: by card, or a whole server."""

from __future__ import annotations

from collections.abc import Sequence

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined, listed, plural
from hccl_kit.selftest.rounds import Card, Pair


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
