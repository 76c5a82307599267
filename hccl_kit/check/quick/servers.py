"""Proves tables of versions 1.0 and 1.2: servers with their devices, super pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from hccl_kit.check.optional_keys import OPTIONAL
from hccl_kit.check.quick.cards import (
    are_short,
    groups_of,
    integer,
    integers,
    require_addresses,
    require_cards,
    require_no_typo,
    require_ranks,
    require_server_ids,
)
from hccl_kit.check.quick.plain import Counted, Proven, arrays, flat, require
from hccl_kit.table.ip import AF_INET, UNSPECIFIED, inet_pton
from hccl_kit.table.products import Product

if TYPE_CHECKING:
    from hccl_kit.table.columns import Columns

_SERVER_KEYS = frozenset(("server_id", "device"))
_DEVICE_KEYS = ("device_id", "device_ip", "rank_id")
_PORTS = ("device_port", "host_port", "device_vnic_port", "backup_device_port")
_MAX_PORT = 65535
_BACKUP, _SDID, _PODS = "backup_device_ip", "super_device_id", "super_pod_list"
_SDIDS_OF_SERVER, _SMALL_SDID, _NO_SDID = 2**22, 2**16, 2**32 - 1


def prove(value: Mapping[str, Any], product: Product, counted: Counted) -> Proven:
    """The numbers of servers and devices of a table, and its columns. Raises one of DOUBTS if it may not be valid."""
    optional = OPTIONAL[value["version"]]
    require_no_typo(counted.top(value, ("version", "status", "server_list"), optional["table"]), optional["table"])
    servers = value["server_list"]
    require(isinstance(servers, list), value.get("server_count", str(len(servers))) == str(len(servers)))
    hosts = counted.unknown(servers, _SERVER_KEYS)
    require_no_typo(hosts.keys() - {"host_ip"}, optional["server"])
    require(all(inet_pton(AF_INET, text) and text != UNSPECIFIED for text in hosts.get("host_ip", ())))
    names, lists = (list(map(itemgetter(key), servers)) for key in ("server_id", "device"))
    counted.texts(names)
    require_server_ids(names)
    sizes = arrays(lists)
    require(min(sizes) > 0)
    devices = flat(lists)
    require(value["version"] == "1.2" or (_PODS not in value and not any(_SDID in device for device in devices)))
    keys = (*_DEVICE_KEYS, _SDID) if value["version"] == "1.2" and _SDID in devices[0] else _DEVICE_KEYS
    (ids, ips, ranks, *sdids), more = counted.columns(devices, keys, (*_PORTS, _BACKUP))
    require_ranks(ranks, sizes, in_blocks=True)
    cards = list(groups_of(ids, sizes))
    require_cards(cards, product, servers=len(servers))
    require_addresses(counted, ips)
    _require_ports(more)
    if _BACKUP in more:
        counted.texts(more[_BACKUP])
        _require_backups(more[_BACKUP], ips, cards)
    pods: Sequence[tuple[str, int]] = ()
    if value["version"] == "1.2":
        require(product.has_super_pods)
        pods = _pods(value[_PODS], names, counted) if _PODS in value else ()
        require(not pods or len(sdids) == 1)
        for column in sdids:
            of_pods = [size for _, size in pods]
            _require_sdids(column, ids, [*map(sum, groups_of(sizes, of_pods or [len(sizes)]))])
    has_more = more or any(len(column) < len(servers) for column in hosts.values())
    columns = names, cards, ips, ranks, sdids[0] if sdids else (), hosts, pods
    return len(servers), len(devices), None if has_more else lambda: _columns(*columns)


def _columns(*columns: Any) -> Columns:
    from hccl_kit.table.columns import Columns  # noqa: PLC0415 - a check does not need them

    return Columns(*columns)


def _require_ports(more: Mapping[str, Sequence[Any]]) -> None:
    """All ports are valid, and no backup port is that of a device."""
    ports = {key: {*more.get(key, ())} - {None} for key in _PORTS}
    require(all(1 <= integer(text) <= _MAX_PORT for text in chain.from_iterable(ports.values())))
    require(ports["backup_device_port"].isdisjoint(ports["device_port"]))


def _require_backups(backups: Sequence[Any], ips: Sequence[str], cards: Sequence[tuple[str, ...]]) -> None:
    """Every backup address is that of the other die of the same NPU; all servers list the same devices."""
    require(len(backups) == len(ips), len(set(cards)) == 1)
    places = {int(text): place for place, text in enumerate(cards[0])}
    for card, place in places.items():
        require(backups[place :: len(places)] == ips[places[card ^ 1] :: len(places)])


def _pods(value: Any, names: Sequence[str], counted: Counted) -> list[tuple[str, int]]:
    """The id and the number of servers of each super pod; `server_list` has the same servers in the same order."""
    require(isinstance(value, list), len(value) > 0)
    (ids, lists), _ = counted.columns(value, ("super_pod_id", "server_list"))
    counted.texts(ids)
    require(len(set(ids)) == len(ids), all(ids), are_short(ids))
    sizes = arrays(lists)
    (listed,), _ = counted.columns(flat(lists), ("server_id",))
    counted.texts(listed)
    require(min(sizes) > 0, listed == names)
    return list(zip(ids, sizes, strict=True))


def _require_sdids(sdids: Sequence[Any], ids: Sequence[str], pods: Sequence[int]) -> None:
    """The SDIDs of a super pod are unique, and all of the usual form or all small numbers chosen by the user.

    `pods` holds the number of devices of each super pod.
    """
    for of_pod, cards in set(zip(groups_of(sdids, pods), groups_of(ids, pods), strict=True)):  # most pods are alike
        numbers = integers(of_pod)
        require(len(numbers) == len(of_pod), max(numbers.values()) < _NO_SDID)
        pairs = zip(map(numbers.__getitem__, of_pod), map(int, cards), strict=True)
        usual = (sdid % _SDIDS_OF_SERVER == card // 2 << 18 | card % 2 << 16 | card for sdid, card in pairs)
        require(max(numbers.values()) < _SMALL_SDID or all(usual))
