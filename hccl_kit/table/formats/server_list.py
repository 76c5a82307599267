"""Versions 1.0 and 1.2: a list of servers, every value a string (R5, R7). 1.2 adds super pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hccl_kit.table.formats.shape import StructureError, array, extra, mapping, number, optional_text, text, texts
from hccl_kit.table.model import NOTHING, Device, PodServer, RankTable, Server, SuperPod
from hccl_kit.table.pointer import Pointer

VERSIONS = ("1.0", "1.2")
_TABLE_KEYS = frozenset(("version", "status", "server_count", "server_list"))
_SERVER_KEYS = frozenset(("server_id", "device"))
_POD_SERVER_KEYS = frozenset(("server_id",))
_POD_KEYS = frozenset(("super_pod_id", "server_list"))
_PODS, _SDID = "super_pod_list", "super_device_id"
_DEVICE_KEYS = {
    "1.0": frozenset(("device_id", "device_ip", "rank_id")),
    "1.2": frozenset(("device_id", "device_ip", "rank_id", _SDID)),
}
SERVER_TEXTS = ("host_ip",)
DEVICE_TEXTS = (
    "device_port",
    "device_vnic_port",
    "backup_device_port",
    "host_port",
    "backup_device_ip",
    "net_position",
    "net_protocol",
)


def from_value(value: object) -> RankTable:
    """The table in the value of a file. Raises StructureError if its structure is wrong.

    Law: `from_value(to_value(t)) == t`.
    """
    table = mapping(value)
    version = text(table.get("version"))
    count = table.get("server_count")
    if version not in VERSIONS or (count is None and "server_count" in table):
        raise StructureError
    has_pods = version == "1.2" and _PODS in table
    servers = array(table.get("server_list"))
    return RankTable(
        version=version,
        status=text(table.get("status")),
        servers=tuple([read_server(server, index, version) for index, server in enumerate(servers)]),
        super_pods=tuple(_pods(table[_PODS])) if has_pods else None,
        declared_servers=None if count is None else number(count),
        extra=extra(table, _TABLE_KEYS | {_PODS} if has_pods else _TABLE_KEYS),
    )


def to_value(table: RankTable) -> dict[str, Any]:
    """The value of a file: known keys in the order of MindSpore's tools, then unknown keys in their order."""
    count = {} if table.declared_servers is None else {"server_count": str(table.declared_servers)}
    pods = {} if table.super_pods is None else {_PODS: list(map(_pod_value, table.super_pods))}
    return {
        "version": table.version,
        **count,
        "server_list": [
            {"server_id": server.id, "device": list(map(_device_value, server.devices)), **server.extra}
            for server in table.servers
        ],
        "status": table.status,
        **pods,
        **table.extra,
    }


def read_server(value: object, index: int, version: str) -> Server:
    """An item of `server_list`. Raises StructureError if its structure is wrong."""
    server = mapping(value)
    unknown = extra(server, _SERVER_KEYS)
    texts(unknown, SERVER_TEXTS)
    values = array(server.get("device"))
    keys = _DEVICE_KEYS[version]
    devices = tuple(
        [_device(device, ("server_list", index, "device", place), keys) for place, device in enumerate(values)]
    )
    return Server(text(server.get("server_id")), devices, unknown, ("server_list", index))


def _device(value: object, at: Pointer, keys: frozenset[str]) -> Device:
    device = mapping(value)
    unknown = NOTHING
    if not keys.issuperset(device):
        unknown = extra(device, keys)
        texts(unknown, DEVICE_TEXTS)
    ip = device.get("device_ip")
    if not isinstance(ip, str):  # absent, or of another type
        ip = optional_text(device, "device_ip")
    sdid = number(device[_SDID]) if _SDID in device and _SDID in keys else None
    return Device(number(device.get("device_id")), ip, number(device.get("rank_id")), sdid, None, (), unknown, at)


def _pods(value: object) -> Iterator[SuperPod]:
    for index, item in enumerate(array(value)):
        pod = mapping(item)
        servers = tuple(
            PodServer(text(mapping(server).get("server_id")), extra(server, _POD_SERVER_KEYS))
            for server in array(pod.get("server_list"))
        )
        yield SuperPod(text(pod.get("super_pod_id")), servers, extra(pod, _POD_KEYS), (_PODS, index))


def _pod_value(pod: SuperPod) -> dict[str, Any]:
    servers = [{"server_id": server.id, **server.extra} for server in pod.servers]
    return {"super_pod_id": pod.id, "server_list": servers, **pod.extra}


def _device_value(device: Device) -> dict[str, Any]:
    ip = {} if device.ip is None else {"device_ip": device.ip}
    sdid = {} if device.sdid is None else {_SDID: str(device.sdid)}
    return {"device_id": str(device.id), **ip, **sdid, "rank_id": str(device.rank), **device.extra}
