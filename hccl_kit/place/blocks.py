"""A rank table as nested blocks: super pods of servers of card pairs of ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import row
from hccl_kit.table.model import Device, PodServer, RankTable, Server, SuperPod

PAIR, SERVER, SUPER_POD = "card pair", "server", "super pod"
VERSIONS = ("1.0", "1.2", "2.0")
"""The versions whose ranks can be changed: in template 2 HCCL numbers them, and 1.1 has ranks without card."""


@dataclass(frozen=True)
class Block:
    """Ranks of a table that stay together; `ranks` are those of the table, in its order, if it has no inner `parts`."""

    parts: tuple[Block, ...] = ()
    ranks: tuple[int, ...] = ()

    @cached_property
    def size(self) -> int:
        """The number of ranks."""
        return len(self.ranks) + sum(part.size for part in self.parts)

    @cached_property
    def first(self) -> int:
        """The lowest of its ranks in the table."""
        return min([*self.ranks, *(part.first for part in self.parts)])

    def all_ranks(self) -> Iterator[int]:
        """Its ranks, part by part."""
        yield from self.ranks
        for part in self.parts:
            yield from part.all_ranks()


@dataclass(frozen=True)
class Cluster:
    """The blocks of a table, outermost first, and the names of their levels, such as ("server", "card pair")."""

    blocks: tuple[Block, ...]
    levels: tuple[str, ...]

    def domains(self) -> tuple[list[int], ...]:
        """For each level the block of every rank of the table, as a number."""
        levels = []
        blocks: tuple[Block, ...] = self.blocks
        for _ in self.levels:
            of_rank = [0] * sum(block.size for block in blocks)
            for number, block in enumerate(blocks):
                for rank in block.all_ranks():
                    of_rank[rank] = number
            levels.append(of_rank)
            blocks = tuple(part for block in blocks for part in block.parts)
        return tuple(levels)


def cluster_of(table: RankTable) -> Cluster:
    """The blocks of a valid table, ordered by lowest rank. Raises KitError for a version that is not in VERSIONS.

    A card pair is the devices 2k and 2k+1 of a server, which are one card of an Atlas A3. In version 2.0 a server is a
    network of the innermost layer.
    """
    if table.version not in VERSIONS:
        raise KitError(
            "place.form",
            "the table is of {form}; the ranks can be placed of versions {versions}",
            hint=Message("place.form.fix", "hccl-kit convert TABLE --to 1.0") if table.version == "" else None,
            form=table.form,
            versions=row(VERSIONS),
        )
    servers = {server.id: _server(server) for server in table.servers if server.devices}
    if table.super_pods is None:
        return Cluster(_sorted(servers.values()), (SERVER, PAIR))
    pods = [
        _sorted(servers.pop(member.id) for member in pod.servers if member.id in servers) for pod in table.super_pods
    ]
    alone = [(server,) for server in servers.values()]
    return Cluster(_sorted(Block(parts) for parts in (*pods, *alone) if parts), (SUPER_POD, SERVER, PAIR))


def reordered(table: RankTable, order: Sequence[int]) -> RankTable:
    """The table with other ranks: `order` has for each new rank the old one. Servers and devices follow the ranks."""
    new = {old: rank for rank, old in enumerate(order)}
    servers = []
    for server in table.servers:
        devices = [device._replace(rank=new[device.rank], at=()) for device in server.devices]
        servers.append(server._replace(devices=tuple(sorted(devices, key=lambda device: device.rank)), at=()))
    servers.sort(key=lambda server: server.devices[0].rank if server.devices else len(new))
    place = {server.id: number for number, server in enumerate(servers)}
    return table._replace(servers=tuple(servers), super_pods=_pods(table.super_pods, place))


def _pods(pods: tuple[SuperPod, ...] | None, place: dict[str, int]) -> tuple[SuperPod, ...] | None:
    def of_entry(entry: PodServer) -> int:
        return place.get(entry.id, len(place))

    if pods is None:
        return None
    inside = [pod._replace(servers=tuple(sorted(pod.servers, key=of_entry)), at=()) for pod in pods]
    return tuple(sorted(inside, key=lambda pod: min(map(of_entry, pod.servers), default=len(place))))


def _server(server: Server) -> Block:
    pairs: dict[int, list[Device]] = {}
    for device in sorted(server.devices, key=lambda device: (device.id, device.rank)):
        pairs.setdefault(device.id // 2, []).append(device)
    return Block(tuple(Block(ranks=tuple([device.rank for device in pair])) for pair in pairs.values()))


def _sorted(blocks: Iterable[Block]) -> tuple[Block, ...]:
    return tuple(sorted(blocks, key=lambda block: block.first))
