"""HK3 and HK4: whose network ports a job uses: of all cards, of some cards (R27), or of the hosts (R28)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hccl_kit.document import shown
from hccl_kit.finding import Finding, Pointer, Related
from hccl_kit.products import Product
from hccl_kit.rank_table import RankTable, Server


def some_ports(table: RankTable, product: Product) -> bool:
    """Whether the product takes cards without address here, as long as they are the same on all servers (R27)."""
    return (
        len(table.servers) > 1
        and {len(server.devices) for server in table.servers} == {product.partial_ports}
        and len([device for device in table.every if device.ip]) < table.world_size
        and _on_hosts(table) is None
    )


def ports_differ(table: RankTable, product: Product) -> Iterator[Finding]:
    """Servers have addresses on different cards.

    What:           several servers of eight cards, and not every card has an address; the cards that have one differ
                    between servers, are none at all, or their number does not divide that of all cards.
    Why it matters: each port is paired with the same port of the other servers.
    Example:        addresses on cards 0 to 3 of one server, and on cards 4 to 7 of the other.
    Fix:            give every card its address, or the same 1, 2 or 4 cards of every server.
    HCCL:           no code; the log says "nic list should be the same between servers" (R27).
    """
    if not some_ports(table, product) or any(_is_absent(server) for server in table.servers):
        return
    ports = [tuple(sorted(device.id for device in server.devices if device.ip)) for server in table.servers]
    usual = Counter(ports).most_common(1)[0][0]
    hint = "give every card its address, or the same 1, 2 or 4 cards of every server"
    if len(set(ports)) == 1 and (not usual or table.world_size % len(usual)):
        message = f"addresses stand on {len(usual)} of the {product.partial_ports} cards of each server"
        yield Finding((*table.servers[0].at, "device"), message, hint)
    for server, found in zip(table.servers, ports, strict=True):
        if found != usual:
            message = f"server {shown(server.id)} has addresses on {_cards(found)}, most servers on {_cards(usual)}"
            yield Finding((*server.at, "device"), message, hint)


def host_ip_missing(table: RankTable, product: Product) -> Iterator[Finding]:
    """The job uses the ports of the hosts, and a server has no host address.

    What:           rank 0 has no `device_ip` and its server a `host_ip`, or a device has "net_position": "host"; so the
                    job uses the ports of the hosts, and another server has no `host_ip`.
    Why it matters: all ranks meet over the ports of the hosts then, or all over those of the cards.
    Example:        "host_ip" written for the first server only.
    Fix:            write the `host_ip` of every server, or the `device_ip` of every device.
    HCCL:           no code; the log says "hostIp config between ranks is different." (R28).
    """
    reason = _on_hosts(table)
    if reason is None:
        return
    related = (Related(reason, "by this the job uses the ports of the hosts"),)
    for server in table.servers:
        if "host_ip" not in server.extra and (
            len(table.servers) == 1 or product.has_super_pods or not _is_absent(server)
        ):
            message = f'server {shown(server.id)} has no "host_ip", and the job uses the ports of the hosts'
            hint = 'write the "host_ip" of every server, or the "device_ip" of every device'
            yield Finding(server.at, message, hint, related)


def _is_absent(server: Server) -> bool:
    """Between servers, HK305 has this already."""
    return "host_ip" not in server.extra and any(device.ip is None for device in server.devices)


def _on_hosts(table: RankTable) -> Pointer | None:
    """What makes the job use the ports of the hosts; None where it uses those of the cards, as nearly always."""
    for device in table.every if "net_position" in table.keys else ():
        if device.extra.get("net_position") == "host":
            return (*device.at, "net_position")
    for server in table.servers:
        if "host_ip" in server.extra and any(device.rank == 0 and not device.ip for device in server.devices):
            return (*server.at, "host_ip")
    return None


def _cards(ids: tuple[int, ...]) -> str:
    return "no card" if not ids else f"card {ids[0]}" if len(ids) == 1 else f"cards {', '.join(map(str, ids))}"
