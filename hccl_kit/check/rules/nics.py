"""HK3 and HK4: whose network ports a job uses: of all cards, of some cards (R27), or of the hosts (R28); and the ports
on which devices and hosts listen.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from hccl_kit.base.message import Message
from hccl_kit.base.wording import row
from hccl_kit.check.rule import SERVER_KINDS, Rule
from hccl_kit.check.rules.super_pods import pods_read
from hccl_kit.table.bounds import CARDS_OF_SERVER, MAX_PORT, port_number
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Edit, Finding, Related
from hccl_kit.table.ip import parse_address, parse_usable
from hccl_kit.table.model import Device, RankTable, Server, trimmed
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import Product


def some_ports(table: RankTable, product: Product) -> bool:
    """Whether HCCL compares the ports of the servers, and some of their cards have none (R27)."""
    return _ports_count(table, product) and len([device for device in table.addressed if device.ip]) < table.world_size


def _ports_count(table: RankTable, product: Product) -> bool:
    """Whether HCCL compares ports: several servers, eight cards on average, not in one super pod, using card ports."""
    several = len(table.servers) > 1 and table.world_size == len(table.servers) * CARDS_OF_SERVER
    return several and len(pods_read(table, product)) != 1 and _on_hosts(table) is None


def ports_differ(table: RankTable, product: Product) -> Iterator[Finding]:
    """Servers have addresses on different cards.

    What:           several servers of eight cards, and not every card has an address; the cards that have one differ
                    between servers, are none at all, or their number does not divide that of all cards. A server with
                    `host_ip` counts as one with all addresses, and one super pod of all servers needs none. Of a pod
                    that is alone in its group (template 2) HCCL reads no address.
    Why it matters: each port is paired with the same port of the other servers.
    Example:        addresses on cards 0 to 3 of one server, and on cards 4 to 7 of the other.
    Fix:            give every card its address, or the same 1, 2 or 4 cards of every server.
    HCCL:           no code; the log says "nic idx size is 0", or "nic list should be the same between servers" (R27).
    """
    if not some_ports(table, product) or _is_reported_before(table, product):
        return
    unread = {device.at for device in table.every} - {device.at for device in table.addressed}
    ports = [
        tuple(sorted(device.id for device in server.devices if device.ip and device.at not in unread))
        for server in table.servers
    ]
    needy = [cards for server, cards in zip(table.servers, ports, strict=True) if _needs_ports(server, cards)]
    if all(_fit(cards, ports, table.world_size) for cards in needy):
        return
    usual = Counter(ports).most_common(1)[0][0]
    hint = Message("HK405.fix", "give every card its address, or the same 1, 2 or 4 cards of every server")
    if unread:
        hint = Message(
            "HK405.pods.fix", "put the pods into one group: HCCL reads no address of a pod that is alone in its group"
        )
    if len(set(ports)) == 1:
        message = Message(
            "HK405.too-few",
            "{count} of the {cards} cards of each server have addresses",
            count=len(usual),
            cards=CARDS_OF_SERVER,
        )
        yield Finding(message, hint, pointer=(*table.servers[0].at, "device"))
    for server, cards in zip(table.servers, ports, strict=True):
        if cards != usual:
            message = Message(
                "HK405.other-cards",
                "server {server} has addresses on {cards}, most servers on {usual}",
                server=shown(server.id),
                cards=_cards(cards),
                usual=_cards(usual),
            )
            yield Finding(message, hint, pointer=(*server.at, "device"))


def _is_reported_before(table: RankTable, product: Product) -> bool:
    """Whether HK305 or HK306 reports the missing addresses as errors: always on A2, never in template 2."""
    return table.version != "" and (
        not product.host_ip_suffices or (not product.has_super_pods and any(map(_is_absent, table.servers)))
    )


def _needs_ports(server: Server, ports: tuple[int, ...]) -> bool:
    return len(server.devices) == CARDS_OF_SERVER and len(ports) < CARDS_OF_SERVER and not has_host(server)


def _fit(cards: tuple[int, ...], ports: list[tuple[int, ...]], total: int) -> bool:
    """Whether some cards of a server may stand for all: they divide the total and are those of all with addresses."""
    return bool(cards) and total % len(cards) == 0 and {*ports} <= {cards, ()}


def untrimmed_server(table: RankTable, product: Product) -> Iterator[Finding]:
    """A server id has spaces around it, and HCCL does not find the ports of its cards.

    What:           several servers of eight cards, and a `server_id` that begins or ends with a space.
    Why it matters: HCCL trims the ids in one place and looks for the untrimmed one in another.
    Example:        "server_id": "10.0.0.1 "
    Fix:            remove the spaces.
    HCCL:           no code; the log says "nic idx size is 0". It takes such an id in tables of other sizes.
    """
    if not _ports_count(table, product):
        return
    names = {server.id for server in table.servers}
    for server in table.servers:
        plain = trimmed(server.id)
        if plain != server.id and len(server.devices) == CARDS_OF_SERVER:
            at = (*server.at, "server_id")
            message = Message(
                "HK410.spaces",
                "server id {server} has spaces around it, and HCCL does not find its ports",
                server=shown(server.id),
            )
            is_free = plain not in names and table.super_pods is None
            hint = Message("HK410.fix", "remove the spaces")
            yield Finding(message, hint, pointer=at, fix=(Edit(at, json.dumps(plain)),) if is_free else ())


def host_ip_missing(table: RankTable, product: Product) -> Iterator[Finding]:
    """The job uses the ports of the hosts, and a server has no `host_ip`.

    What:           rank 0 has no `device_ip` and its server a `host_ip`, or a device has "net_position": "host"; so the
                    job uses the ports of the hosts, and another server has no `host_ip`, or 0.0.0.0.
    Why it matters: all ranks connect over the ports of the hosts, or all over those of the cards.
    Example:        "host_ip" written for the first server only.
    Fix:            write the `host_ip` of every server, or the `device_ip` of every device.
    HCCL:           no code; the log says "hostIp config between ranks is different." (R28).
    """
    reason = _on_hosts(table)
    if reason is None:
        return
    related = (Related(reason, Message("HK320.reason", "because of this the job uses the ports of the hosts")),)
    for server in table.servers:
        if not has_host(server) and (len(table.servers) == 1 or product.has_super_pods or not _is_absent(server)):
            message = Message(
                "HK320.missing",
                'server {server} has no "host_ip", and the job uses the ports of the hosts',
                server=shown(server.id),
            )
            hint = Message("HK320.fix", 'write the "host_ip" of every server, or the "device_ip" of every device')
            yield Finding(message, hint, pointer=server.at, related=related)


def has_host(server: Server) -> bool:
    """Whether the server has a host address. 0.0.0.0 stands for no address; HK307 reports invalid ones."""
    text = server.extra.get("host_ip")
    return text is not None and (parse_address(text) is None or parse_usable(text) is not None)


def _is_absent(server: Server) -> bool:
    """Whether neither the host nor one of its devices has an address; HK305 reports this between servers."""
    return not has_host(server) and any(device.ip is None for device in server.devices)


def _on_hosts(table: RankTable) -> Pointer | None:
    """What makes the job use the ports of the hosts; None if it uses those of the cards, as nearly always."""
    for device in table.every if "net_position" in table.keys else ():
        if device.extra.get("net_position") == "host":
            return (*device.at, "net_position")
    for server in table.servers:
        if has_host(server) and any(device.rank == 0 and not device.ip for device in server.devices):
            return (*server.at, "host_ip")
    return None


def _cards(ids: tuple[int, ...]) -> Message:
    if not ids:
        return Message("HK405.no-card", "no card")
    if len(ids) == 1:
        return Message("HK405.card", "card {card}", card=ids[0])
    return Message("HK405.cards", "cards {cards}", cards=row(map(str, ids)))


_PORTS = ("device_port", "host_port", "port")
_ONLY_WITH = {"device_vnic_port": "device_port", "backup_device_port": "backup_device_ip"}
"""HCCL reads these ports only with another key."""


def port_invalid(table: RankTable, product: Product) -> Iterator[Finding]:
    """A port is not a valid port number.

    What:           `device_port`, `host_port`, `device_vnic_port` with `device_port`, or on Atlas A3
                    `backup_device_port` with `backup_device_ip` is not 1 to 65535; `port` of version 1.1 may be 0.
    Why it matters: HCCL listens there; 0 is reserved, and in version 1.1 stands for the usual port.
    Example:        "device_port": "0"
    Fix:            write a free port, or remove the key; the default is 16666.
    HCCL:           no code; the log only (R15). A port that is not the one written it takes: it reads "1.2" as 1, and
                    any number for the `port` of version 1.1. It reads `backup_device_port` where retry between super
                    pods is on.
    """
    for device in table.every if table.keys.intersection((*_PORTS, *_ONLY_WITH)) else ():
        for key in _read(device, product) if table.version != "1.1" else ("port",):
            text, least = device.extra.get(key), 0 if key == "port" else 1
            number = least if text is None else port_number(text)
            if number is None or not least <= number <= MAX_PORT:
                message = Message(
                    "HK308.port",
                    '"{key}" is {port}; a port from {least} to {most} is expected',
                    key=key,
                    port=shown(text),
                    least=least,
                    most=MAX_PORT,
                )
                hint = Message("HK308.fix", "write a free port, or remove the key for the default")
                yield Finding(message, hint, pointer=(*device.at, key))


def _read(device: Device, product: Product) -> Iterator[str]:
    """The ports of a device of versions 1.0 and 1.2 that HCCL of the product reads."""
    for key in device.extra:
        if key in _ONLY_WITH:
            if _ONLY_WITH[key] in device.extra and (key == "device_vnic_port" or product.has_super_pods):
                yield key
        elif key in _PORTS[:2]:
            yield key


RULES = (
    Rule("HK308", "invalid-port", port_invalid, kinds=("1.0", "1.1", "1.2")),
    Rule("HK320", "missing-host-ip", host_ip_missing),
    Rule("HK405", "different-address-cards", ports_differ, kinds=SERVER_KINDS),
    Rule("HK410", "padded-server-id", untrimmed_server),
)
