"""The nodes of a Slurm allocation, and which server of the table each is."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from hccl_kit.base import hostlist
from hccl_kit.base.errors import KitError, ParseError
from hccl_kit.base.wording import counted, listed
from hccl_kit.launch.plan import Node


def nodes_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The nodes of the allocation that this program runs in. Raises KitError if it runs in none."""
    text = environ.get("SLURM_JOB_NODELIST", "")
    if not text:
        raise KitError(
            "selftest.no-allocation",
            "--slurm works inside an allocation of Slurm, and SLURM_JOB_NODELIST is not set",
            fix="salloc --nodes=2 hccl-kit selftest TABLE --slurm",
        )
    try:
        return hostlist.expand(text)
    except ParseError as error:
        raise KitError(
            "selftest.node-list", "SLURM_JOB_NODELIST={text!r}: {reason}", text=text[:80], reason=error.message
        ) from error


def addresses_of(name: str) -> frozenset[str]:
    """The addresses that a name resolves to here; none if it does not."""
    with suppress(OSError, UnicodeError):
        return frozenset(str(place[4][0]) for place in socket.getaddrinfo(name, None))
    return frozenset()


def matched(
    servers: Sequence[Node], names: Sequence[str], resolve: Callable[[str], frozenset[str]] = addresses_of
) -> dict[str, str]:
    """The node of each server by the server's id: by name, else by the addresses that a node's name resolves to.

    Raises KitError if a server is not exactly one node.
    """
    addresses = {name: resolve(name) for name in names}
    node_of = {}
    for server in servers:
        known_as = {server.id, server.address, _plain(server.id), _plain(server.address)}
        nodes = [name for name in names if name in known_as] or [name for name in names if known_as & addresses[name]]
        if len(nodes) != 1:
            raise KitError(
                "selftest.node-of-server",
                "server {server!r} matches {nodes} of this allocation by name or address: {known}",
                fix="request its node: salloc --nodelist=NAME,...",
                server=server.id,
                nodes=counted(len(nodes), "node") if nodes else "no node",
                known=listed((f"{name} ({listed(sorted(addresses[name])) or 'no address'})" for name in names), 4),
            )
        node_of[server.id] = nodes[0]
    return node_of


def _plain(address: str) -> str:
    """An address as the system writes it."""
    with suppress(ValueError):
        return str(ipaddress.ip_address(address))
    return address
