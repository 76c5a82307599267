"""Version 1.1: a list of nodes with ranks, some of which run on the CPU. It holds only ranks and addresses.

A node is a server, named by its address; a rank is a device, with the id HOST if it runs on the CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hccl_kit.table.bounds import HOST, SUB_VERSION
from hccl_kit.table.formats.shape import StructureError, array, extra, mapping, number, optional_text, text, texts
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.pointer import Pointer

_SUB_VERSION = "1.2"
TABLE_TEXTS = ("mode", "master_ip", "master_port")
RANK_TEXTS = ("port", "sdid", "bind_device_id")
_TABLE_KEYS = frozenset(("version", "status", "node_list"))
_NODE_KEYS = frozenset(("node_addr", "ranks"))
_RANK_KEYS = frozenset(("rank_id", "device_id", "rank_ip"))
_KEYS = {"server_list": "node_list", "server_id": "node_addr", "device": "ranks", "device_ip": "rank_ip"}


def from_value(value: object) -> RankTable:
    """The table in the value of a file. Raises StructureError if its structure is wrong.

    Law: `from_value(to_value(t)) == t`.
    """
    table = mapping(value)
    text(table.get("collective_id"))
    texts(table, TABLE_TEXTS)
    if table.get("version") != "1.1" or table.get(SUB_VERSION, _SUB_VERSION) != _SUB_VERSION:
        raise StructureError
    return RankTable(
        version="1.1",
        status=text(table.get("status")),
        servers=tuple(_node(mapping(node), index) for index, node in enumerate(array(table.get("node_list")))),
        extra=extra(table, _TABLE_KEYS),
    )


def to_value(table: RankTable) -> dict[str, Any]:
    """The value of a file: known keys first, then the others in their order."""
    return {
        "version": table.version,
        "status": table.status,
        "node_list": [
            {"node_addr": node.id, "ranks": list(map(_rank_value, node.devices)), **node.extra}
            for node in table.servers
        ],
        **table.extra,
    }


def in_document(pointer: Pointer) -> Pointer:
    """The pointer into a file for a pointer with the keys of version 1.0 (`server_id`, `device`)."""
    return (*pointer[:-1], _KEYS.get(str(pointer[-1]), pointer[-1])) if pointer else pointer


def _node(value: Mapping[str, Any], index: int) -> Server:
    at = ("node_list", index)
    ranks = array(value.get("ranks"))
    devices = tuple([_rank(mapping(rank), (*at, "ranks", r)) for r, rank in enumerate(ranks)])
    return Server(text(value.get("node_addr")), devices, extra(value, _NODE_KEYS), at)


def _rank(value: Mapping[str, Any], at: Pointer) -> Device:
    """A rank without `device_id` runs on the CPU, and so does one of "-1", which is kept in `extra`."""
    texts(value, RANK_TEXTS)
    device_id = value.get("device_id", str(HOST))
    rest = extra(value, _RANK_KEYS)
    return Device(
        HOST if device_id == str(HOST) else number(device_id),
        optional_text(value, "rank_ip"),
        number(value.get("rank_id")),
        extra={"device_id": device_id, **rest} if value.get("device_id") == str(HOST) else rest,
        at=at,
    )


def _rank_value(device: Device) -> dict[str, Any]:
    device_id = {} if device.id == HOST else {"device_id": str(device.id)}
    ip = {} if device.ip is None else {"rank_ip": device.ip}
    return {"rank_id": str(device.rank), **device_id, **ip, **device.extra}
