"""Find out which server of a table this machine is."""

from __future__ import annotations

import socket

from hccl_kit.base.errors import KitError
from hccl_kit.base.network import ip_of
from hccl_kit.base.wording import listed
from hccl_kit.discovery.server_id import interfaces
from hccl_kit.launch.plan import HOST_IP
from hccl_kit.table.document import shown
from hccl_kit.table.model import RankTable, Server


def find_server(table: RankTable, wanted: str | None = None) -> Server | None:
    """The server with the id `wanted`; without it, the one that has an address or name of this machine.

    None if there is no such server, or more than one. Raises KitError if the table has no server `wanted`.
    """
    if wanted:
        for server in table.servers:
            if server.id == wanted:
                return server
        raise KitError(
            "preflight.unknown-server",
            "the table has no server {server}; it has {known}",
            server=shown(wanted),
            known=listed(shown(server.id) for server in table.servers),
        )
    servers = servers_here(table)
    return servers[0] if len(servers) == 1 else None


def servers_here(table: RankTable) -> tuple[Server, ...]:
    """The servers whose id or `host_ip` is an address or name of this machine."""
    here = names_here()
    return tuple(
        server
        for server in table.servers
        if any(plain(name) in here for name in (server.id, server.extra.get(HOST_IP)))
    )


def names_here() -> frozenset[str]:
    """The addresses and host names of this machine."""
    host = socket.gethostname()
    addresses = [plain(interface.address) for interface in interfaces() if not interface.is_link_local]
    return frozenset([plain(host), plain(host.partition(".")[0]), *addresses])


def plain(name: object) -> str:
    """An address in canonical form, other text unchanged; non-strings become "", which matches no host."""
    return str(ip_of(name) or name) if isinstance(name, str) else ""
