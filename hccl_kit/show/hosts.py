"""Servers and cards of a picture. Nearly all servers of a large table are only counted, and need not be made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple, overload

from hccl_kit.table.finding import Finding


class Card(NamedTuple):
    """A card of a server; `rank` is None if it is not in the job. `findings` are the findings on it, one per rule."""

    id: int
    rank: int | None
    address: str = ""
    findings: tuple[Finding, ...] = ()


class Host(NamedTuple):
    """A server with its cards, in groups of linked cards."""

    id: str
    groups: tuple[tuple[Card, ...], ...]
    findings: tuple[Finding, ...] = ()

    @property
    def all_cards(self) -> tuple[Card, ...]:
        """Its cards, also those without rank, by id."""
        return tuple([card for group in self.groups for card in group])

    @property
    def cards(self) -> tuple[Card, ...]:
        """Its cards with a rank, by id."""
        return tuple([card for card in self.all_cards if card.rank is not None])

    @property
    def ranks(self) -> tuple[int, ...]:
        """Its ranks in ascending order."""
        return tuple(sorted([card.rank for card in self.cards if card.rank is not None]))

    @property
    def has_findings(self) -> bool:
        """Whether there are findings on it or on one of its cards."""
        return bool(self.findings) or any(card.findings for card in self.all_cards)


class SoundHosts(Sequence[Host]):
    """Servers without findings, each made by `make` from its place in the table when it is looked at."""

    def __init__(self, make: Callable[[int], Host], places: Sequence[int]) -> None:
        self._make, self.places = make, places

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> Host: ...
    @overload
    def __getitem__(self, index: slice) -> SoundHosts: ...
    def __getitem__(self, index: int | slice) -> Host | SoundHosts:
        if isinstance(index, slice):
            return SoundHosts(self._make, self.places[index])
        return self._make(self.places[index])

    def joined(self, others: Iterable[SoundHosts]) -> SoundHosts:
        """These servers and then others of the same table."""
        return SoundHosts(self._make, [*self.places, *chain.from_iterable(other.places for other in others)])


class Run(NamedTuple):
    """Consecutive servers; `is_uniform`: with the same cards, and ranks that continue from one to the next."""

    hosts: Sequence[Host]
    is_uniform: bool = True

    @property
    def ranks(self) -> str:
        """Its lowest and highest rank, such as "0-31"; empty without ranks."""
        ranks = [rank for host in (self.hosts[0], self.hosts[-1]) for rank in host.ranks]
        return "" if not ranks else str(ranks[0]) if len(set(ranks)) == 1 else f"{min(ranks)}-{max(ranks)}"

    @property
    def has_findings(self) -> bool:
        """Whether there are findings on a server of it."""
        return not isinstance(self.hosts, SoundHosts) and any(host.has_findings for host in self.hosts)


def joined(parts: Sequence[Sequence[Host]]) -> Sequence[Host]:
    """The servers of all parts."""
    sound = [part for part in parts if isinstance(part, SoundHosts)]
    if parts and len(sound) == len(parts):
        return sound[0].joined(sound[1:])
    return tuple(chain.from_iterable(parts))
