"""Version 2.0 (Atlas 950): a list of ranks, each with its networks from the innermost outwards.

Numbers are JSON numbers, not strings as in versions 1.x. The bounds are those of HCCL's parser (R34).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hccl_kit.table import bounds
from hccl_kit.table.formats.shape import StructureError, array, extra, integer, mapping, text
from hccl_kit.table.model import NOTHING, Address, Device, Level, RankTable, Server

_NOWHERE = ""
"""The server of ranks without a network (HK239); no network has this name."""
_TABLE_KEYS = frozenset(("version", "status", "rank_count", "rank_list"))
_RANK_KEYS = frozenset(("rank_id", "device_id", "local_id", "level_list"))
_LEVEL_KEYS = frozenset(("net_layer", "net_instance_id", "net_type", "rank_addr_list"))
_ADDRESS_KEYS = frozenset(("addr_type", "addr", "ports"))


def from_value(value: object) -> RankTable:
    """The table in the value of a file. Raises StructureError if its structure is wrong.

    Servers are the networks of the innermost layer, in order of first appearance. `status` is "" if it is absent.
    A rule checks `replaced_local_id` (HK225): HCCL reads it for a backup only.
    Law: `from_value(to_value(t)) == t` if the ranks of `t` are in order.
    """
    table = mapping(value)
    if text(table.get("version")) != "2.0":
        raise StructureError
    status = table.get("status")  # HCCL does not read it: any other value is kept as an unknown key
    has_status = isinstance(status, str) and status != ""
    unknown = extra(table, _TABLE_KEYS if has_status else _TABLE_KEYS - {"status"})
    if "detour" in unknown and unknown["detour"] not in ("true", "false", ""):
        raise StructureError
    ranks = array(table.get("rank_list"))
    if not 1 <= len(ranks) <= bounds.MAX_RANKS:
        raise StructureError
    networks: dict[str, list[Device]] = {}
    for index, rank in enumerate(ranks):
        device = read_rank(rank, index)
        networks.setdefault(device.levels[0].instance if device.levels else _NOWHERE, []).append(device)
    return RankTable(
        version="2.0",
        status=str(status) if has_status else "",
        servers=tuple([Server(name, tuple(devices), at=devices[0].at) for name, devices in networks.items()]),
        declared_ranks=integer(table.get("rank_count"), 1, bounds.MAX_RANKS),
        extra=unknown,
    )


def to_value(table: RankTable) -> dict[str, Any]:
    """The value of a file: ranks in order, known keys before unknown ones."""
    count = table.world_size if table.declared_ranks is None else table.declared_ranks
    return {
        "version": table.version,
        **({"status": table.status} if table.status else {}),
        "rank_count": count,
        **table.extra,
        "rank_list": [_rank_value(device) for _, device in table.by_rank()],
    }


def read_rank(value: object, index: int) -> Device:
    """An item of `rank_list`. Raises StructureError if its structure is wrong."""
    rank = mapping(value)
    levels = array(rank.get("level_list"))
    if len(levels) > bounds.MAX_LEVELS:
        raise StructureError
    unknown = extra(rank, _RANK_KEYS)
    if unknown:
        _check_options(unknown)
    return Device(
        id=integer(rank.get("device_id"), 0, bounds.BACKUP),
        ip=None,
        rank=integer(rank.get("rank_id"), 0, bounds.MAX_RANKS - 1),
        local_id=integer(rank.get("local_id"), 0, bounds.BACKUP),
        levels=tuple([_level(level) for level in levels]),
        extra=unknown,
        at=("rank_list", index),
    )


def _check_options(rank: Mapping[str, Any]) -> None:
    """Check the optional keys of a rank."""
    for key in ("device_port", "host_port"):
        if key in rank:
            integer(rank[key], 1, bounds.MAX_PORT)
    if "control_plane" in rank:
        plane = mapping(rank["control_plane"])
        integer(plane.get("listen_port"), 1, bounds.MAX_PORT)
        _bounded(plane.get("addr"), 1, bounds.MAX_ADDRESS)
        if plane.get("addr_type") not in bounds.ADDRESS_TYPES:
            raise StructureError


def _level(value: object) -> Level:
    level = mapping(value)
    kind = level.get("net_type")
    addresses = array(level.get("rank_addr_list"))
    if (kind not in bounds.NET_TYPES and "net_type" in level) or len(addresses) > bounds.MAX_ADDRESSES:
        raise StructureError
    if "net_attr" in level:
        text(level["net_attr"])
    return Level(
        layer=integer(level.get("net_layer"), 0, bounds.MAX_LAYER),
        instance=_bounded(level.get("net_instance_id"), 1, bounds.MAX_TEXT),
        addresses=tuple([_address(address) for address in addresses]),
        type=kind,
        extra=extra(level, _LEVEL_KEYS),
    )


def _address(value: object) -> Address:
    """An address. A table has four for each rank, so their required keys are checked here, without further calls."""
    address = mapping(value)
    kind, text_, ports = address.get("addr_type"), address.get("addr"), address.get("ports")
    if (
        kind not in bounds.ADDRESS_TYPES
        or not (isinstance(text_, str) and 1 <= len(text_) <= bounds.MAX_ADDRESS)
        or not (isinstance(ports, list) and 1 <= len(ports) <= bounds.MAX_PORTS)
    ):
        raise StructureError
    for port in ports:
        if not (isinstance(port, str) and 1 <= len(port) <= bounds.MAX_PORT_TEXT):
            raise StructureError
    unknown = NOTHING if len(address) == len(_ADDRESS_KEYS) else extra(address, _ADDRESS_KEYS)
    if unknown is not NOTHING:
        _check_address_options(unknown)
    return Address(kind, text_, tuple(ports), unknown)


def _check_address_options(address: Mapping[str, Any]) -> None:
    """Check the optional keys of an address."""
    if "plane_id" in address:
        _bounded(address["plane_id"], 0, bounds.MAX_TEXT)
    backups = array(address.get("backup_addr", []))
    if len(backups) > bounds.MAX_BACKUPS:
        raise StructureError
    for backup in backups:
        _bounded(backup, 1, bounds.MAX_ADDRESS)


def _bounded(value: object, least: int, most: int) -> str:
    """A string of `least` to `most` characters."""
    if not (isinstance(value, str) and least <= len(value) <= most):
        raise StructureError
    return value


def _rank_value(device: Device) -> dict[str, Any]:
    return {
        "rank_id": device.rank,
        "device_id": device.id,
        "local_id": device.local_id,
        **device.extra,
        "level_list": [_level_value(level) for level in device.levels],
    }


def _level_value(level: Level) -> dict[str, Any]:
    return {
        "net_layer": level.layer,
        "net_instance_id": level.instance,
        **({} if level.type is None else {"net_type": level.type}),
        **level.extra,
        "rank_addr_list": [
            {"addr_type": address.type, "addr": address.text, "ports": list(address.ports), **address.extra}
            for address in level.addresses
        ],
    }
