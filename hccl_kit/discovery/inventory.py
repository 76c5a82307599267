"""Card addresses from a file that people keep: an inventory of servers and the address of every card.

    10.0.0.1:
      0: 192.168.100.101
      1: 192.168.101.101
    10.0.0.2:
      0: 192.168.100.102

The text is taken as it is written: a server called `on` or `1e3` stays that, whatever YAML makes of it elsewhere.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml

from hccl_kit.bounded_file import read_bounded
from hccl_kit.device_range import MAX_ID
from hccl_kit.errors import KitError

MAX_FILE = 4 << 20
"""Bytes; 65,536 cards need about a third of it."""

_SHAPE = "an inventory is `server: {device id: address, ...}` for every server"
_SHOWN = 16
_MERGE = "tag:yaml.org,2002:merge"


def addresses(path: Path, server: str, ids: Sequence[int]) -> dict[int, str]:
    """The address of every card in `ids` (physical ids) of one server; KitError names what the file has instead."""
    servers = read(path)
    if server not in servers:
        raise KitError(f"{path} has no server {server}; it has: {_few(servers)}", hint="--server_ip NAME takes one")
    cards = servers[server]
    missing = [device_id for device_id in ids if device_id not in cards]
    if missing:
        raise KitError(f"{path} has no address for card {_few(missing)} of server {server}; it has: {_few(cards)}")
    return {device_id: cards[device_id] for device_id in ids}


def read(path: Path) -> dict[str, dict[int, str]]:
    """`{server id: {physical device id: address}}`, in the order of the file.

    KitError names the file, the line and the column of what is wrong: no YAML, another shape, a server, card or
    address that stands twice, an id that is none, an address that is none.
    """
    root = _compose(_text(path), path)
    if root is None:
        raise KitError(f"{path} is empty; {_SHAPE}")
    seen: dict[str, str] = {}
    servers: dict[str, dict[int, str]] = {}
    for key, value in _pairs(root, path):
        name = _scalar(key, path)
        if name in servers:
            raise _error(path, key, f"server {name} stands twice")
        servers[name] = _cards(value, path, seen)
    return servers


def _few(items: Iterable[object]) -> str:
    """The first of them, and how many more there are."""
    texts = [str(item) for item in items]
    return ", ".join(texts[:_SHOWN]) + (f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else "")


def _cards(node: yaml.Node, path: Path, seen: dict[str, str]) -> dict[int, str]:
    """One server's cards; `seen` holds the place of every address so far, for an address serves one card only."""
    cards: dict[int, str] = {}
    for key, value in _pairs(node, path):
        text, address = _scalar(key, path), _scalar(value, path)
        if not re.fullmatch("0|[1-9][0-9]{0,3}", text) or int(text) > MAX_ID:
            raise _error(path, key, f"{text!r} is not a device id; accepted: 0 to {MAX_ID}")
        if int(text) in cards:
            raise _error(path, key, f"card {text} stands twice in this server")
        try:
            ipaddress.ip_address(address)
        except ValueError:
            raise _error(path, value, f"{address!r} is not an IP address") from None
        if address in seen:
            raise _error(path, value, f"address {address} is taken already, at {seen[address]}")
        seen[address] = _place(path, value)
        cards[int(text)] = address
    return cards


def _text(path: Path) -> str:
    data = read_bounded(path, MAX_FILE)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise KitError(f"{path} is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}") from None


def _compose(text: str, path: Path) -> yaml.Node | None:
    """The tree of nodes with their places; no value is built, so no tag can start anything."""
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise KitError(f"{place}: not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise KitError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise KitError(f"{path}: nested too deep; {_SHAPE}") from None
    return node


def _pairs(node: yaml.Node, path: Path) -> list[tuple[yaml.Node, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode) or not node.value:
        raise _error(path, node, f"expected a mapping with at least one entry; {_SHAPE}")
    return list(node.value)


def _scalar(node: yaml.Node, path: Path) -> str:
    if not isinstance(node, yaml.ScalarNode) or node.tag == _MERGE:
        raise _error(path, node, f"expected a plain text; {_SHAPE}")
    return str(node.value)


def _place(path: Path, node: yaml.Node) -> str:
    return f"{path}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"


def _error(path: Path, node: yaml.Node, message: str) -> KitError:
    return KitError(f"{_place(path, node)}: {message}")
