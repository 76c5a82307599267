"""The servers of a new rank table with their cards: those that are named, or this one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.network import LOOPBACK, is_loopback
from hccl_kit.discovery import hccn_conf, inventory, simulate
from hccl_kit.discovery.cards_here import cards_here
from hccl_kit.discovery.product_here import ProductChoice
from hccl_kit.discovery.server_id import Choice, choose, interfaces
from hccl_kit.discovery.visible import Devices
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.products import Product

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
        simulated = simulate.cluster_addresses(len(names), ids, planes=search.product.planes)
        hosts = tuple(Host(name, _cards(addresses)) for name, addresses in zip(names, simulated, strict=True))
        source = Message(
            "discovery.from-benchmarks", "simulated, {range}; no card was queried", range=simulate.BENCHMARKS
        )
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
            range=simulate.DOCUMENTATION,
        )
        return Host(server, _cards(simulate.addresses(ids, planes=search.product.planes))), source
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
