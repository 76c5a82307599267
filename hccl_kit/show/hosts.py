"""Servers and cards of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
        return any(host.has_findings for host in self.hosts)
