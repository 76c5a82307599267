"""Which cores each rank gets, near its card: pure functions over what `machine` has read.

Memory follows: Linux takes it from the node of the core that first writes to it, and from another node when that is
full. A strict policy (numactl --membind) would end a rank there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hccl_kit.agent.texts import ENGLISH, phrase

if TYPE_CHECKING:
    from hccl_kit.agent.machine import Machine
    from hccl_kit.agent.texts import Texts

BINDINGS = (NONE, NUMA, CORES) = ("none", "numa", "cores")
"""A rank runs on all cores; on those of the NUMA node of its card; on a share of these that no other rank has."""


class Binding(NamedTuple):
    """The cores by card, without the cards whose ranks are not bound; `text` is the binding in words."""

    cores: Mapping[int, frozenset[int]]
    text: str

    @property
    def fewest(self) -> int:
        """The cores of the rank that has fewest; there must be one that is bound."""
        return min(map(len, self.cores.values()))


def binding(kind: str, cards: Sequence[int], machine: Machine, texts: Texts = ENGLISH) -> Binding:
    """The binding of the ranks on `cards` of this machine; `kind` is NUMA or CORES.

    A share depends on the card and the machine, not on the other cards of the job: jobs side by side do not overlap.
    """
    if kind == NUMA and len(machine.nodes) < 2:
        return Binding({}, phrase(texts, "agent.one-node"))
    if machine.near.keys() >= set(cards):
        near = {card: cores & machine.allowed for card, cores in machine.near.items()}
        source = phrase(texts, "agent.near")
    else:
        near = _dealt(machine.nodes, {*cards, *machine.cards, *machine.near})
        source = phrase(texts, "agent.divided", number=len(near))
    chosen = {card: _share(card, near, machine) if kind == CORES else near[card] for card in cards}
    bound = {card: cores for card, cores in chosen.items() if cores}
    notes = [phrase(texts, "agent.no-near-core", card=card) for card in cards if card not in bound]
    if kind == CORES and sum(map(len, bound.values())) > len(_joined(bound.values())):
        notes.append(phrase(texts, "agent.shared"))
    lists = " ".join(as_list(bound[card]) if card in bound else phrase(texts, "agent.any-core") for card in cards)
    why = phrase(texts, "agent.between-notes").join([source, *notes])
    return Binding(bound, phrase(texts, "agent.cores", lists=lists, notes=why))


def as_list(cores: Collection[int]) -> str:
    """`0-3,8`, as Linux writes lists of cores."""
    begins = [core for core in sorted(cores) if core - 1 not in cores]
    ends = [core for core in sorted(cores) if core + 1 not in cores]
    return ",".join(map(lambda first, last: f"{first}-{last}" if first < last else f"{first}", begins, ends))


def _dealt(nodes: Sequence[frozenset[int]], cards: Collection[int]) -> dict[int, frozenset[int]]:
    """The cores of the nodes by card: neighbours share a node, or a card has several."""
    ends = [at * len(nodes) // len(cards) for at in range(len(cards) + 1)]
    return {card: _joined(nodes[ends[at] : max(ends[at] + 1, ends[at + 1])]) for at, card in enumerate(sorted(cards))}


def _share(card: int, near: Mapping[int, frozenset[int]], machine: Machine) -> frozenset[int]:
    """The part of the cores near a card that is not for the other cards near them; all, if they are too few.

    Threads of one core stay together.
    """
    cards = sorted(other for other in near if near[other] == near[card])
    whole = sorted({machine.threads.get(core, frozenset()) & near[card] | {core} for core in near[card]}, key=min)
    at, size = cards.index(card), len(whole)
    part = whole[at * size // len(cards) : (at + 1) * size // len(cards)] if size >= len(cards) else whole
    return _joined(part)


def _joined(parts: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset(core for cores in parts for core in cores)
