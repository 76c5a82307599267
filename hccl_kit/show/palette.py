"""The colours of cards in a drawing: by linked cards, or by groups of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LINKED: tuple[str, ...] = ("#cfe3f7", "#d8efd3", "#fbe7c2", "#e5d9f2")
"""Cards of one group of linked cards."""
RANKS = (*LINKED, "#f9d5d5", "#cdeeea", "#eadbc8", "#dfe3a8")
"""Ranks of one group; there may be thousands of groups, so the colours repeat."""
PLANES = ("#2f6fad", "#3d8b37", "#c17d11", "#7b4fa3")
"""Network planes."""


class RankGroups(NamedTuple):
    """The groups of one kind, such as "tensor", by which cards are coloured; `of_rank` has the group of every rank."""

    kind: str
    of_rank: Sequence[int]
