"""Which card, server, rail or part of the network explains the failed pings: a pure function of their results.

A cause is only what no answered ping contradicts. Where two causes explain the same pings, as between two servers, the
cause names both sides instead of one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Set
from itertools import chain
from typing import Literal, NamedTuple

from hccl_kit.base.grouped import grouped
from hccl_kit.preflight.card_round import Place

Pair = tuple[Place, Place]
"""The card that asked, and the one that was asked."""
Kind = Literal["all", "known", "server", "rail", "card", "address", "route", "sides", "loss", "pair"]


class Cause(NamedTuple):
    """What explains the pings `failed`. `others` is the other side, for the kinds "sides" and "pair".

    Kinds: "all": no ping was answered. "known": the port of this card is known to be bad. "server", "rail", "card":
    none of its pings was answered, in either direction. "address": a card reaches others, and nobody reaches it.
    "route": the opposite. "sides": two sets of cards that reach each other inside only. "loss": some pings of one card
    fail. "pair": two cards, both of which reach others, or of which nothing else is known.
    """

    kind: Kind
    places: tuple[Place, ...]
    failed: tuple[Pair, ...]
    others: tuple[Place, ...] = ()


class Pings(NamedTuple):
    """The pings that were answered in full, and those that failed and are not explained yet."""

    answered: Set[Pair]
    failed: Set[Pair]


def causes(results: Mapping[Pair, bool], bad_ports: Set[Place] = frozenset()) -> list[Cause]:
    """The causes of the failed pings, each ping explained once.

    `results`: whether each ping was answered in full, without those that could not be made. `bad_ports`: the cards
    whose ports other readings show to be bad.
    """
    answered = {pair for pair, is_answered in results.items() if is_answered}
    failed = results.keys() - answered
    if failed and not answered and len({place.server for place in _places(failed)}) > 2:
        return [Cause("all", tuple(sorted(_places(failed))), tuple(sorted(failed)))]
    if not failed:
        return []
    known: list[Cause] = []
    steps = (_known(bad_ports), _dead(_SERVER), _dead(_RAIL), _dead(_CARD), _one_way, _sides, _loss, _pairs)
    for step in steps:
        for cause in step(Pings(answered, failed)):
            rest = tuple(pair for pair in cause.failed if pair in failed)
            if rest:
                known.append(cause._replace(failed=rest))
                failed = failed.difference(rest)
    return known


_Step = Callable[[Pings], Iterator[Cause]]


class _Group(NamedTuple):
    """Cards that can fail together; at least `least` of them, for there is a smaller cause otherwise."""

    kind: Kind
    name: Callable[[Place], Hashable]
    least: int


_SERVER = _Group("server", lambda place: place.server, 2)
_RAIL = _Group("rail", lambda place: place.card, 3)
_CARD = _Group("card", lambda place: place, 1)


def _known(bad: Set[Place]) -> _Step:
    def step(pings: Pings) -> Iterator[Cause]:
        for place, pairs in sorted(_by_place(pings.failed).items()):
            if place in bad:
                yield Cause("known", (place,), tuple(pairs))

    return step


def _dead(group: _Group) -> _Step:
    """The groups of which no ping was answered; and other cards answer, two of them or, for a rail, any."""

    def step(pings: Pings) -> Iterator[Cause]:
        alive = _places(pings.answered)
        living = {group.name(place) for place in alive}
        by_name = grouped(
            (name, pair)
            for pair in sorted(pings.failed)
            for name in dict.fromkeys(map(group.name, pair))
            if name not in living
        )
        for name, pairs in by_name.items():
            cards = {place for place in _places(pairs) if group.name(place) == name}
            witnesses = alive if group is _RAIL else alive & _places(pairs)
            if len(cards) >= group.least and len(witnesses) > 1:
                yield Cause(group.kind, tuple(sorted(cards)), tuple(pairs))

    return step


def _one_way(pings: Pings) -> Iterator[Cause]:
    """The cards that reach others and that two ask in vain, and the opposite."""
    yield from _lost_at("address", 1, pings)
    yield from _lost_at("route", 0, pings)


def _lost_at(kind: Kind, end: int, pings: Pings) -> Iterator[Cause]:
    """The cards at this end of failed pings, all of whose pings at the other end were answered but for each other's."""
    well, well_at_other_end = {pair[end] for pair in pings.answered}, {pair[1 - end] for pair in pings.answered}
    here, back = defaultdict[Place, list[Pair]](list), defaultdict[Place, set[Place]](set)
    for pair in sorted(pings.failed):
        here[pair[end]].append(pair)
        back[pair[1 - end]].add(pair[end])
    lost = here.keys() - well
    for card, pairs in here.items():
        if card in lost and len(pairs) > 1 and card in well_at_other_end and back[card] <= lost:
            yield Cause(kind, (card,), tuple(pairs))


def _sides(pings: Pings) -> Iterator[Cause]:
    """Sets of at least two cards that reach each other, and none of another set."""
    side = _components(pings.answered)
    between = defaultdict[frozenset[Place], list[Pair]](list)
    for pair in sorted(pings.failed):
        first, second = (side.get(place, place) for place in pair)
        if first != second:
            between[frozenset((first, second))].append(pair)
    members = {root: {*places} for root, places in grouped((root, place) for place, root in side.items()).items()}
    wide: dict[tuple[frozenset[str], frozenset[str]], list[tuple[set[Place], set[Place], list[Pair]]]] = {}
    for roots, pairs in between.items():
        one, other = sorted((members.get(root, set()) for root in roots), key=lambda cards: (len(cards), sorted(cards)))
        if len(one) > 1:
            servers = [frozenset(place.server for place in cards) for cards in (one, other)]
            wide.setdefault((servers[0], servers[1]), []).append((one, other, pairs))
    for parts in wide.values():
        few = sorted(set(chain.from_iterable(part[0] for part in parts)))
        many = sorted(set(chain.from_iterable(part[1] for part in parts)))
        yield Cause("sides", tuple(few), tuple(chain.from_iterable(part[2] for part in parts)), tuple(many))


def _loss(pings: Pings) -> Iterator[Cause]:
    """The cards at which failed pings meet: more other cards than those have themselves."""
    failed = set(pings.failed)
    while True:
        peers = {place: _places(pairs) - {place} for place, pairs in _by_place(failed).items()}
        meeting = [
            place
            for place, cards in sorted(peers.items())
            if len(cards) > 1 and all(len(peers[card]) < len(cards) for card in cards)
        ]
        if not meeting:
            return
        for place in meeting:
            pairs = tuple(sorted(pair for pair in failed if place in pair))
            failed.difference_update(pairs)
            yield Cause("loss", (place,), pairs)


def _pairs(pings: Pings) -> Iterator[Cause]:
    for pairs in grouped((frozenset(pair), pair) for pair in sorted(pings.failed)).values():
        yield Cause("pair", pairs[0][:1], tuple(pairs), pairs[0][1:])


def _places(pairs: Set[Pair] | list[Pair] | tuple[Pair, ...]) -> set[Place]:
    return set(chain.from_iterable(pairs))


def _by_place(pairs: Set[Pair]) -> dict[Place, list[Pair]]:
    return grouped((place, pair) for pair in sorted(pairs) for place in pair)


def _components(pairs: Set[Pair]) -> dict[Place, Place]:
    """Each card of these pairs with one card that stands for all that it reaches, over any number of pairs."""
    parent: dict[Place, Place] = {}

    def root(place: Place) -> Place:
        while (above := parent.setdefault(place, place)) != place:
            parent[place] = parent[above]
            place = above
        return place

    for first, second in pairs:
        parent[root(first)] = root(second)
    return {place: root(place) for place in list(parent)}
