"""Find out which server of a table this machine is."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable

from hccl_kit.base import wording
from hccl_kit.base.errors import KitError
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
        raise KitError(f"the table has no server {shown(wanted)}; it has {listed(table.servers)}")
    found = servers_here(table)
    return found[0] if len(found) == 1 else None


def servers_here(table: RankTable) -> tuple[Server, ...]:
    """The servers whose id or `host_ip` is an address or name of this machine."""
    own = names_here()
    return tuple(
        server for server in table.servers if any(plain(name) in own for name in (server.id, server.extra.get(HOST_IP)))
    )


def names_here() -> frozenset[str]:
    """The addresses and host names of this machine."""
    host = socket.gethostname()
    addresses = [plain(one.address) for one in interfaces() if not one.is_link_local]
    return frozenset([plain(host), plain(host.partition(".")[0]), *addresses])


def plain(name: object) -> str:
    """An address in canonical form, other text unchanged; non-strings become "", which matches no host."""
    try:
        return str(ipaddress.ip_address(name)) if isinstance(name, str) else ""
    except ValueError:
        return str(name)


def listed(servers: Iterable[Server]) -> str:
    """The ids of the first servers, and the number of the others."""
    return wording.listed(shown(server.id) for server in servers)
