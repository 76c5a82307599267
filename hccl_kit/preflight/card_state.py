"""What is known of the network port and the memory of cards, and what their pings said. It travels as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined
from hccl_kit.discovery.hccn_answers import LinkHistory, Neighbour, Pinged
from hccl_kit.preflight.answer import assert_matches
from hccl_kit.preflight.card_pings import Place, Plan
from hccl_kit.preflight.cluster_rules import folded
from hccl_kit.preflight.probes.cards import named

NOTHING: Mapping[str, str] = MappingProxyType({})


class CardState(NamedTuple):
    """One card. A reading that the tools did not give is None, and `unread` has the reason under its name.

    `link` is UP or DOWN, `speed` that of the port, such as "200000 Mb/s". `optics` are readings by name, in mW, mA and
    dB. `history` is from before the pings, and `new_downs` are the losses of the link during them. `counters` are those
    of errors, by how much they rose during the pings. `memory` and `clock` are rows of npu-smi.
    """

    link: str | None = None
    speed: str | None = None
    history: LinkHistory | None = None
    new_downs: int = 0
    optics: Mapping[str, float] | None = None
    neighbour: Neighbour | None = None
    counters: Mapping[str, int] | None = None
    memory: Mapping[str, int] | None = None
    clock: Mapping[str, int] | None = None
    unread: Mapping[str, str] = NOTHING


States = Mapping[Place, CardState]
Reasons = Mapping[Place, Message]
"""The cards that are not well, with the reason."""


class CardsAnswer(NamedTuple):
    """The cards of one server, and their pings in the order of the rounds. `error`: why there is nothing."""

    states: Mapping[int, CardState] = MappingProxyType({})
    pings: Sequence[tuple[int, Place, str, Pinged]] = ()
    error: str | None = None


def to_value(answer: CardsAnswer) -> dict[str, Any]:
    """The answer as a JSON value."""
    return {
        "cards": {
            str(card): {
                **state._asdict(),
                "unread": dict(state.unread),
                "history": state.history._asdict() if state.history else None,
                "neighbour": state.neighbour._asdict() if state.neighbour else None,
            }
            for card, state in answer.states.items()
        },
        "pings": [[card, *target, link, *pinged] for card, target, link, pinged in answer.pings],
    }


def from_value(value: Any) -> CardsAnswer:
    """The answer in a value that another server sent. Raises KitError if it is not one.

    Law: `from_value(to_value(answer)) == answer`.
    """
    assert_matches(value, "preflight_report", "cards")
    states = {int(card): _state(state) for card, state in value["cards"].items()}
    pings = [
        (card, Place(server, other), link, Pinged(sent, received, fastest, reason))
        for card, server, other, link, sent, received, fastest, reason in value["pings"]
    ]
    return CardsAnswer(states, pings)


def _state(value: Mapping[str, Any]) -> CardState:
    history, neighbour = value["history"], value["neighbour"]
    state = CardState(**{name: value[name] for name in CardState._fields})
    return state._replace(
        history=LinkHistory(tuple(history["downs"]), history["down_count"]) if history else None,
        neighbour=Neighbour(**{name: neighbour[name] for name in Neighbour._fields}) if neighbour else None,
    )


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
