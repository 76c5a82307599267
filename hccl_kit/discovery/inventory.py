"""Servers and their cards from an inventory file.

    10.0.0.1:
      0: 192.168.100.101
      1: 192.168.101.101/24
    10.0.0.2:
      host_ip: 10.0.0.2
      super_pod: pod-a
      0: {ip: 192.168.100.102, netmask: 255.255.255.0, sdid: 4194304}
    10.0.0.3:
      0:
        local_id: 0
        level_list:
        - net_layer: 0
          net_instance_id: srv0
          net_type: TOPO_FILE_DESC
          rank_addr_list:
          - {addr_type: EID, addr: 000000000000002000100000dfdf0001, ports: [0/1], plane_id: 0}

A card is its address, or a mapping with more facts. `schemas/inventory.schema.json` describes every key.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import indented, joined, listed, shortened
from hccl_kit.discovery.yaml_tree import MAX_SHOWN, Node, Tree, read_tree
from hccl_kit.table import bounds
from hccl_kit.table.device_range import MAX_ID
from hccl_kit.table.hosts import Card, Host
from hccl_kit.table.ip import prefix_length
from hccl_kit.table.model import NOTHING, Address, Level

MAX_FILE = 64 << 20
"""Bytes; 65,536 cards need 2 MiB, with the levels of version 2.0 about half of it."""
MAX_CARDS = 65_536
"""The largest job of HCCL."""

_SHAPE = "an inventory is `server: {device id: address, ...}` for every server"
_SERVER_KEYS = ("host_ip", "super_pod")
_CARD_KEYS = ("ip", "netmask", "sdid", "local_id", "level_list")
_LEVEL_KEYS = ("net_layer", "net_instance_id", "net_type", "net_attr", "rank_addr_list")
_ADDRESS_KEYS = ("addr_type", "addr", "ports", "plane_id")
_MAX_SDID = 0xFFFF_FFFF
_SHOWN = 16


def hosts(path: Path, names: Sequence[str] | None, ids: Sequence[int]) -> tuple[Host, ...]:
    """The servers called `names` (None: every one), in that order, each with the cards in `ids` (physical ids).

    Raises KitError with all servers that are not in the file, or with all that lack one of the cards.
    """
    servers = read(path)
    wanted = list(servers) if names is None else names
    unknown = [name for name in wanted if name not in servers]
    if unknown:
        raise KitError(
            "discovery.no-server",
            "{path} has no server {unknown}; it has: {servers}",
            fix="--server_ip NAME takes one, --hosts LIST several",
            path=path,
            unknown=listed(unknown, _SHOWN),
            servers=listed(servers, _SHOWN),
        )
    lacking = []
    for name in wanted:
        cards = servers[name].cards
        if missing := [device_id for device_id in ids if device_id not in cards]:
            wrong, there = listed(missing, _SHOWN), listed(cards, _SHOWN)
            lacking.append(
                Message(
                    "discovery.lacking-cards",
                    "card {cards} of server {server}; it has: {others}",
                    cards=wrong,
                    server=name,
                    others=there,
                )
            )
    if lacking:
        lines = indented(shortened(lacking, _SHOWN))
        raise KitError("discovery.inventory-no-address", "{path} has no address for:{cards}", path=path, cards=lines)
    return tuple(
        servers[name]._replace(cards={device_id: servers[name].cards[device_id] for device_id in ids})
        for name in wanted
    )


def read(path: Path) -> dict[str, Host]:
    """Every server by its id, in the order of the file.

    Raises KitError with the file, line and column if the file is not YAML or has another structure, a duplicate server,
    card or address, or an id or address that is not valid.
    """
    tree = read_tree(path, MAX_FILE, _SHAPE)
    seen: dict[str, Node] = {}
    servers: dict[str, Host] = {}
    count = 0
    for key, value in tree.pairs(tree.root):
        name = tree.text(key)
        if name in servers:
            hint = Message("discovery.server-twice", "duplicate server {server}", server=name[:MAX_SHOWN])
            raise tree.error(key, hint)
        servers[name] = _host(tree, name, value, seen)
        count += len(servers[name].cards)
        if count > MAX_CARDS:
            hint = Message("discovery.too-many-cards", "the inventory has more than {most} cards", most=MAX_CARDS)
            raise tree.error(key, hint)
    return servers


def _host(tree: Tree, name: str, node: Node, seen: dict[str, Node]) -> Host:
    """One server; `seen` holds the place of every address so far, since an address belongs to one card only."""
    facts: dict[str, str] = {}
    cards: dict[int, Card] = {}
    for key, value in tree.pairs(node):
        text = tree.text(key)
        if text in _SERVER_KEYS:
            if text in facts:
                raise tree.error(key, Message("discovery.key-twice", "duplicate key {key} in this server", key=text))
            facts[text] = _address(tree, value, tree.text(value)) if text == "host_ip" else tree.text(value)
            continue
        if not re.fullmatch("0|[1-9][0-9]{0,3}", text) or int(text) > MAX_ID:
            keys = joined(_SERVER_KEYS)
            hint = Message(
                "discovery.device-id",
                "{key!r} is not a device id; accepted: 0 to {most}, {keys}",
                key=text[:MAX_SHOWN],
                most=MAX_ID,
                keys=keys,
            )
            raise tree.error(key, hint)
        if int(text) in cards:
            raise tree.error(key, Message("discovery.card-twice", "duplicate card {card} in this server", card=text))
        cards[int(text)] = card = _card(tree, value)
        if card.ip is not None and seen.setdefault(card.ip, value) is not value:
            first = tree.place(seen[card.ip])
            hint = Message(
                "discovery.address-twice", "address {address} is already used at {place}", address=card.ip, place=first
            )
            raise tree.error(value, hint)
    return Host(name, cards, **facts)


def _card(tree: Tree, node: Node) -> Card:
    if not node.is_mapping:
        return Card(*_ip(tree, node))
    entries = tree.entries(node, _CARD_KEYS)
    if not entries.keys() & {"ip", "sdid", "level_list"}:
        raise tree.error(node, Message("discovery.empty-card", "a card needs at least one of ip, sdid, level_list"))
    ip, prefix = _ip(tree, entries["ip"]) if "ip" in entries else (None, None)
    if mask := entries.get("netmask"):
        if prefix is not None:
            raise tree.error(mask, Message("discovery.two-masks", "the address already has a prefix length"))
        prefix = prefix_length(tree.text(mask))
        if prefix is None:
            hint = Message(
                "discovery.netmask",
                "{value!r} is not a netmask; accepted: 255.255.255.0, 24",
                value=tree.text(mask)[:MAX_SHOWN],
            )
            raise tree.error(mask, hint)
    return Card(
        ip=ip,
        prefix=prefix,
        sdid=tree.number(entries["sdid"], _MAX_SDID) if "sdid" in entries else None,
        local_id=tree.number(entries["local_id"], bounds.BACKUP) if "local_id" in entries else None,
        # Rules check the values of the networks, in the generated table.
        levels=tuple(_level(tree, item) for item in tree.items(entries["level_list"], bounds.MAX_LEVELS))
        if "level_list" in entries
        else (),
    )


def _ip(tree: Tree, node: Node) -> tuple[str, int | None]:
    """The address, and its prefix length if it has one."""
    text, slash, written = tree.text(node).partition("/")
    bits = 128 if ":" in text else 32
    address = _address(tree, node, text)
    if not slash:
        return address, None
    prefix = prefix_length(written)
    if prefix is None or prefix > bits:
        hint = Message(
            "discovery.prefix",
            "{value!r} is not a valid prefix length; accepted: 0 to {bits}",
            value=written[:MAX_SHOWN],
            bits=bits,
        )
        raise tree.error(node, hint)
    return address, prefix


def _address(tree: Tree, node: Node, text: str) -> str:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        message = Message("discovery.no-ip", "{value!r} is not an IP address", value=text[:MAX_SHOWN])
        raise tree.error(node, message) from None
    return text


def _level(tree: Tree, node: Node) -> Level:
    entries = tree.entries(node, _LEVEL_KEYS, required=("net_layer", "net_instance_id", "rank_addr_list"))
    return Level(
        layer=tree.number(entries["net_layer"], bounds.MAX_LAYER),
        instance=tree.text(entries["net_instance_id"]),
        addresses=tuple(
            _address_of(tree, item) for item in tree.items(entries["rank_addr_list"], bounds.MAX_ADDRESSES)
        ),
        type=tree.text(entries["net_type"]) if "net_type" in entries else None,
        extra={"net_attr": tree.text(entries["net_attr"])} if "net_attr" in entries else NOTHING,
    )


def _address_of(tree: Tree, node: Node) -> Address:
    entries = tree.entries(node, _ADDRESS_KEYS, required=("addr_type", "addr", "ports"))
    return Address(
        type=tree.text(entries["addr_type"]),
        text=tree.text(entries["addr"]),
        ports=tuple(tree.text(port) for port in tree.items(entries["ports"], bounds.MAX_PORTS)),
        extra={"plane_id": tree.text(entries["plane_id"])} if "plane_id" in entries else NOTHING,
    )
