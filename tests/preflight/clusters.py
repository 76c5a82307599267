"""Clusters whose cards answered: healthy ones of any size, and faults that can be planted in them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

from hccl_kit.discovery.hccn_answers import LinkHistory, Neighbour, Pinged
from hccl_kit.preflight.answer import Answer
from hccl_kit.preflight.card_round import CardRound, CardState, Place

ANSWERED, LOST = Pinged(3, 3, 0.04), Pinged(3, 0)


class Cluster(NamedTuple):
    """The readings and pings of all cards, and the versions of the drivers."""

    states: dict[Place, CardState]
    pings: dict[tuple[Place, Place], Pinged]
    drivers: dict[str, str]

    @property
    def places(self) -> list[Place]:
        return list(self.states)

    def subject(self) -> CardRound:
        return CardRound(self.states, [(*pair, "RoCE", pinged) for pair, pinged in self.pings.items()])

    def answers(self) -> list[Answer]:
        return [Answer(server, facts={"driver": driver}) for server, driver in self.drivers.items()]

    def lose(self, is_lost: Callable[[Place, Place], bool]) -> None:
        self.pings.update({pair: LOST for pair in self.pings if is_lost(*pair)})

    def change(self, place: Place, **readings: object) -> None:
        self.states[place] = self.states[place]._replace(**readings)  # type: ignore[arg-type]


def healthy(servers: int, cards: int, rng: random.Random, *, leaves: int = 1) -> Cluster:
    """A cluster whose rails are `leaves` switches each; readings vary within what is well."""
    names = [f"10.0.{index // 250}.{index % 250 + 1}" for index in range(servers)]
    states = {
        Place(name, card): CardState(
            link="UP",
            history=LinkHistory(tuple(rng.sample(range(90_000, 900_000), rng.randrange(4))), rng.randrange(4)),
            optics=module(rng),
            neighbour=Neighbour(f"leaf-{card}-{index % leaves}", f"1/1/{index}", is_card=False),
            counters={"mac_rx_fcs_err_pkt_num": 0, "roce_new_pkt_rty_num": rng.randrange(2)},
            memory={"HBM Double Bit Error Count": 0, "HBM Double Bit Isolated Pages Count": rng.randrange(2)},
            clock={"Aicore Freq(MHZ)": 1800, "Aicore curFreq(MHZ)": 800, "Aicore Usage Rate(%)": 0},
        )
        for index, name in enumerate(names)
        for card in range(cards)
    }
    pings = {
        (Place(name, card), Place(other, card)): ANSWERED
        for card in range(cards)
        for name in names
        for other in names
        if name != other
    }
    return Cluster(states, pings, dict.fromkeys(names, "25.2.0"))


def module(rng: random.Random) -> Mapping[str, float]:
    lanes = range(4)
    return {
        **{f"Tx Power{lane}": rng.uniform(0.9, 1.4) for lane in lanes},
        **{f"Rx Power{lane}": rng.uniform(0.7, 1.2) for lane in lanes},
        **{f"Tx Bias{lane}": rng.uniform(7.0, 8.0) for lane in lanes},
        **{f"Media SNR Lane{lane}": rng.uniform(21.0, 26.0) for lane in lanes},
        "Rx Los Flag": 0.0,
        "temperature": rng.uniform(30, 60),
    }


def dead_link(cluster: Cluster, place: Place, rng: random.Random) -> tuple[Place, ...]:
    """The tool calls the link of half of the dead ports UP, as where the fault is behind the first switch."""
    if rng.random() < 0.5:
        cluster.change(place, link="DOWN", neighbour=None)
    cluster.lose(lambda source, target: place in (source, target))
    return (place,)


def slow_optic(cluster: Cluster, place: Place, rng: random.Random) -> tuple[Place, ...]:
    cluster.change(place, optics={**module(rng), "Rx Power2": 0.02}, counters={"mac_rx_fcs_err_pkt_num": 9})
    cluster.pings.update({pair: Pinged(3, 2, 0.1) for pair in cluster.pings if place in pair and rng.random() < 0.4})
    return (place,)


def slow_card(cluster: Cluster, place: Place, rng: random.Random) -> tuple[Place, ...]:
    cluster.change(
        place,
        clock={"Aicore Freq(MHZ)": 1800, "Aicore curFreq(MHZ)": rng.randrange(400, 1300), "Aicore Usage Rate(%)": 99},
    )
    return (place,)


def stale_address(cluster: Cluster, place: Place, _rng: random.Random) -> tuple[Place, ...]:
    cluster.lose(lambda _, target: target == place)
    return (place,)


def flapping_port(cluster: Cluster, place: Place, rng: random.Random) -> tuple[Place, ...]:
    cluster.change(place, history=LinkHistory(tuple(rng.sample(range(60, 80_000), 3)), 9))
    cluster.lose(lambda source, target: place in (source, target) and rng.random() < 0.3)
    return (place,)


def crossed_cables(cluster: Cluster, place: Place, rng: random.Random) -> tuple[Place, ...]:
    cards = sorted({other.card for other in cluster.places} - {place.card})
    other = Place(place.server, rng.choice(cards))
    first, second = cluster.states[place].neighbour, cluster.states[other].neighbour
    cluster.change(place, neighbour=second)
    cluster.change(other, neighbour=first)
    cluster.lose(lambda source, target: bool({place, other} & {source, target}))
    return (place, other)


def another_driver(cluster: Cluster, place: Place, _rng: random.Random) -> tuple[Place, ...]:
    cluster.drivers[place.server] = "24.1.0"
    return ()
