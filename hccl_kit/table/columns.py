"""The devices of a valid table as columns of plain values: work on a large table then makes no object per device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class GroupColumns(NamedTuple):
    """A group of template 2 without unknown keys: its instances with their servers and numbers of devices.

    `labels` are names of pods, or ranks in the lab form.
    """

    name: str
    labels: Sequence[str]
    servers: Sequence[str]
    sizes: Sequence[int]


class Columns(NamedTuple):
    """A table of version 1.0, 1.2 or template 2 whose devices have an id, an address, a rank and perhaps an SDID.

    The columns are in the order of the servers; all values are texts, and numbers have no leading zeros. `cards`
    holds the device ids of each server. `given_ranks` is empty if the file has none (cloud form of template 2), and so
    is `sdids`. `server_keys` are unknown keys that every server has. `pods` are the super pods with their numbers of
    servers, in the order of the servers. `groups` belong to template 2.
    """

    servers: Sequence[str]
    cards: Sequence[tuple[str, ...]]
    ips: Sequence[str]
    given_ranks: Sequence[str]
    sdids: Sequence[str] = ()
    server_keys: Mapping[str, Sequence[Any]] = {}
    pods: Sequence[tuple[str, int]] = ()
    groups: Sequence[GroupColumns] = ()

    def by_server(self, column: Iterable[T]) -> Iterator[tuple[T, ...]]:
        """The values of each server, from those of all devices."""
        items = iter(column)
        return (tuple(islice(items, len(cards))) for cards in self.cards)

    def ranks(self) -> Iterable[int]:
        """The rank of each device; if the file has none, in the order of server ids as text, then of device ids."""
        if self.given_ranks:
            return map(int, self.given_ranks)
        orders = {cards: _order(cards) for cards in set(self.cards)}
        ranks: list[Sequence[int]] = [()] * len(self.servers)
        first = 0
        for server in sorted(range(len(self.servers)), key=self.servers.__getitem__):
            cards = self.cards[server]
            order = orders[cards]
            ranks[server] = _inverse(order, first) if order else range(first, first + len(cards))
            first += len(cards)
        return list(chain.from_iterable(ranks))


def _order(cards: Sequence[str]) -> Sequence[int]:
    """The indexes that sort the device ids; empty if they are sorted, as nearly always."""
    numbers = [*map(int, cards)]
    order = sorted(range(len(cards)), key=numbers.__getitem__)
    return () if order == [*range(len(cards))] else order


def _inverse(order: Sequence[int], first: int) -> Sequence[int]:
    """The place of each item in an order, counted from `first`."""
    ranks = [0] * len(order)
    for rank, place in enumerate(order, first):
        ranks[place] = rank
    return ranks
