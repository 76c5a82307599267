"""What all servers answered about their cards, and how cards are named in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined
from hccl_kit.discovery.hccn_ping import Pinged
from hccl_kit.preflight.card_pings import Place, Plan
from hccl_kit.preflight.card_readings import States
from hccl_kit.preflight.card_state import NOTHING
from hccl_kit.preflight.cluster_rules import folded
from hccl_kit.preflight.probes.cards import named

MAX_SHOWN = 8
"""Reasons, and pairs of servers, in the findings of one rule; the JSON form has every ping."""


class CardRound(NamedTuple):
    """The states of all cards that were read, all pings, and the plan that they follow.

    `silent` are the servers whose cards were not asked, with the reason.
    """

    states: States
    pings: Sequence[tuple[Place, Place, str, Pinged]]
    plan: Plan = Plan()
    silent: Mapping[str, str] = NOTHING


def in_words(places: Iterable[Place]) -> str:
    """`card 3 of 10.0.0.2 and cards 0 to 7 of 10.0.0.[3-5]`; servers with the same cards are together."""
    cards = grouped(places)
    servers = grouped((tuple(sorted({*ids})), server) for server, ids in cards.items())
    return joined(
        Message("preflight.cards-of", "{cards} of {servers}", cards=named(ids), servers=folded(names))
        for ids, names in servers.items()
    )
