"""The servers of a new rank table with their cards: those that are named, or this one.

Cards may be counted within the visible devices of a process (ASCEND_RT_VISIBLE_DEVICES), and their addresses may be
simulated, to try tables and scripts anywhere.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.network import LOOPBACK, is_loopback
from hccl_kit.base.wording import listed, plural
from hccl_kit.discovery import hccn_conf, inventory
from hccl_kit.discovery.cards_here import cards_here
from hccl_kit.discovery.product_here import ProductChoice
from hccl_kit.discovery.server_id import Choice, choose, interfaces
from hccl_kit.table.device_range import DeviceRange
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.products import Product


class Devices(NamedTuple):
    """The cards of a job on each server. Rank 0 gets the first one.

    `logical` are their ids if they were counted within the visible devices, else None.
    """

    physical: DeviceRange
    logical: DeviceRange | None = None

    @property
    def mapping(self) -> list[str]:
        """A line for each logical id and its physical id."""
        pairs = zip(self.logical.ids, self.physical.ids, strict=True) if self.logical else ()
        return [
            Message("discovery.mapping", "logical {logical} -> physical {physical}", logical=logical, physical=physical)
            for logical, physical in pairs
        ]


def physical_ids(logical: Sequence[int], visible: str) -> dict[int, int]:
    """`{logical id: physical id}` for every id in `logical`; `visible` lists the physical ids, logical 0 first.

    `visible` is a device range (`4,5,6,7`, `4-7`, `[4,8)`) and must ascend, as CANN requires; rank tables hold
    physical ids (R20). Raises KitError if it does not ascend or is too short, ParseError if it is not a range.
    """
    cards = DeviceRange.parse(visible).ids
    written = [int(number) for number in re.findall("[0-9]+", visible)]
    if written != sorted(written):
        ascending = ",".join(map(str, cards))
        raise KitError(
            "discovery.not-ascending",
            "the visible devices {visible!r} are not in ascending order, which CANN requires",
            fix="write {ascending}",
            visible=visible,
            ascending=ascending,
        )
    outside = [i for i in logical if i >= len(cards)]
    if outside:
        raise KitError(
            "discovery.not-visible",
            "outside the visible devices {visible!r}: {noun} {ids}; they are {count} cards, logical 0 to {last}",
            fix='--device_num "[0,{count})" takes all of them; without --visible_devices the ids are physical',
            visible=visible,
            noun=plural("logical device", len(outside)),
            ids=listed(outside, 8),
            count=len(cards),
            last=len(cards) - 1,
        )
    return {i: cards[i] for i in logical}


DOCUMENTATION = Message("discovery.documentation", "documentation addresses of RFC 5737")
BENCHMARKS = Message("discovery.benchmarks", "addresses of RFC 2544, reserved for benchmarks")
_MANY = ipaddress.IPv4Address("198.18.0.0")
_MANY_SIZE = 1 << 17


def simulated(ids: Sequence[int], *, planes: int) -> dict[int, str]:
    """One address of 192.0.2.0/24 for every card in `ids`.

    The range is reserved for documentation (RFC 5737), so no such table works on a real network. The /24 is divided
    into one block for each of the `planes` (as `Product.planes`: card i belongs to plane i mod planes); no address is
    the first or the last of its block. Raises KitError if an id does not fit into its block.
    """
    block = 256 // planes
    highest = planes * (block - 2) - 1
    if max(ids) > highest:
        raise KitError(
            "discovery.card-not-simulated",
            "card {card} cannot be simulated: the documentation range ends with card {highest}",
            card=max(ids),
            highest=highest,
        )
    return {i: f"192.0.2.{block * (i % planes) + i // planes + 1}" for i in ids}


def simulated_cluster(servers: int, ids: Sequence[int], *, planes: int) -> list[dict[int, str]]:
    """As `simulated` for each of `servers` servers, from 198.18.0.0/15, which RFC 2544 reserves for benchmarks.

    Every plane has its own block, and every server a range of it. Raises KitError if the block is too small.
    """
    block = _MANY_SIZE // planes
    run = max(ids) // planes + 1
    most = (block - 2) // run
    if servers > most:
        raise KitError(
            "discovery.servers-not-simulated",
            "{servers} servers cannot be simulated: 198.18.0.0/15 has room for {most} with these cards",
            servers=servers,
            most=most,
        )
    return [
        {i: str(_MANY + (block * (i % planes) + run * server + i // planes + 1)) for i in ids}
        for server in range(servers)
    ]


EVERY: Literal["all"] = "all"
"""Every server of the inventory."""


class ServerSearch(NamedTuple):
    """The servers and cards of a table, and where the addresses of the cards come from.

    `hosts` are the names of the servers, None for this server. `server` is the id of this server, and `version` that of
    the table, both None if they are to be detected. Without `hccn_conf`, `inventory` and `simulate` the addresses come
    from this machine.
    """

    devices: Devices
    choice: ProductChoice
    version: str | None = None
    hosts: tuple[str, ...] | Literal["all"] | None = None
    server: str | None = None
    hccn_conf: Path | None = None
    inventory: Path | None = None
    simulate: bool = False

    @property
    def product(self) -> Product:
        """The product that the table is for."""
        return self.choice.product


class JobServers(NamedTuple):
    """The servers of the job with their cards, and lines about where the facts come from."""

    hosts: tuple[Host, ...]
    notes: tuple[str, ...]


def find_servers(
    search: ServerSearch, check: Callable[[Sequence[str]], None], report: Callable[[str], None]
) -> JobServers:
    """The servers that are searched for.

    `check` gets their names before a card is queried, and raises if they may not have these cards. `report` gets
    warnings. Raises KitError if a card has no address.
    """
    if search.hosts is not None:
        return _named_servers(search, check)
    server = _server_id(search, report)
    check([server.address])
    host, source = _host(search, server.address, report)
    notes = (
        Message("discovery.note-id", "server id: {id}, from {reason}", id=server.address, reason=server.reason),
        _note_on_addresses(source),
    )
    return JobServers((host,), (*search.devices.mapping, search.choice.note, *notes))


def _named_servers(search: ServerSearch, check: Callable[[Sequence[str]], None]) -> JobServers:
    """The named servers, from the inventory or simulated; all have the same cards."""
    names = None if search.hosts == EVERY else search.hosts
    ids = search.devices.physical.ids
    if names is not None:
        check(names)
    if search.inventory is not None:
        hosts = inventory.hosts(search.inventory, names, ids)
        source = Message("discovery.from-inventory", "inventory {path}", path=search.inventory)
    else:
        assert names is not None
        addresses_of = simulated_cluster(len(names), ids, planes=search.product.planes)
        hosts = tuple(Host(name, _cards(addresses)) for name, addresses in zip(names, addresses_of, strict=True))
        source = Message("discovery.from-benchmarks", "simulated, {range}; no card was queried", range=BENCHMARKS)
    servers = Message("discovery.note-servers", "servers: {count}, from --hosts", count=len(hosts))
    return JobServers(hosts, (*search.devices.mapping, search.choice.note, servers, _note_on_addresses(source)))


def _note_on_addresses(source: str) -> Message:
    return Message("discovery.note-addresses", "addresses: {source}", source=source)


def _server_id(search: ServerSearch, report: Callable[[str], None]) -> Choice:
    if search.server is not None:
        return Choice(search.server, "--server_ip")
    if search.simulate:
        return Choice(LOOPBACK, Message("discovery.simulated-id", "--simulate: the job runs on this host only"))
    choice = choose(interfaces(), os.environ)
    if is_loopback(choice.address):
        report(
            Message(
                "discovery.loopback",
                "warning: server id {id} is loopback ({reason}): the table is valid on this host only;"
                " --server_ip ADDRESS sets another id",
                id=choice.address,
                reason=choice.reason,
            )
        )
    return choice


def _host(search: ServerSearch, server: str, report: Callable[[str], None]) -> tuple[Host, str]:
    """One server, and where its addresses come from. An explicit option takes precedence over the tool."""
    ids = search.devices.physical.ids
    if search.simulate:
        source = Message(
            "discovery.from-documentation",
            "simulated, {range}; no card was queried, no network has them",
            range=DOCUMENTATION,
        )
        return Host(server, _cards(simulated(ids, planes=search.product.planes))), source
    if search.inventory is not None:
        source = Message(
            "discovery.from-server-of-inventory",
            "server {server} of inventory {path}",
            server=server,
            path=search.inventory,
        )
        return inventory.hosts(search.inventory, [server], ids)[0], source
    if search.hccn_conf is not None:
        return Host(server, _cards(hccn_conf.addresses(search.hccn_conf, ids))), str(search.hccn_conf)
    return cards_here(server, ids, has_pods=search.product.has_super_pods and search.version != "1.0", report=report)


def _cards(addresses: Mapping[int, str]) -> dict[int, Card]:
    return {device_id: Card(ip) for device_id, ip in addresses.items()}
