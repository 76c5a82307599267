"""Version 1.0: a list of servers, every value a text (R5, R7).

Reading is the hot path of every check, so it only says yes or no; why it is no is the schema's business. A property
test holds the two to the same verdict.
"""

from __future__ import annotations

from typing import Any

from hccl_kit.finding import Pointer
from hccl_kit.rank_table import Device, RankTable, Server

_TABLE_KEYS = frozenset(("version", "status", "server_count", "server_list"))
_SERVER_KEYS = frozenset(("server_id", "device"))
_DEVICE_KEYS = frozenset(("device_id", "device_ip", "rank_id"))
_SERVER_TEXTS = ("host_ip",)
_DEVICE_TEXTS = (
    "device_port",
    "device_vnic_port",
    "backup_device_port",
    "host_port",
    "backup_device_ip",
    "net_position",
    "net_protocol",
)
_MAX_DIGITS = 10
"""HCCL keeps numbers in 32 bits."""


class MisfitError(ValueError):
    """The value has not the structure of a version 1.0 table."""


def from_value(value: object) -> RankTable:
    """The table in a file's value; MisfitError where its structure is wrong. Law: `from_value(to_value(t)) == t`."""
    table = _object(value)
    count = table.get("server_count")
    if _text(table.get("version")) != "1.0" or (count is None and "server_count" in table):
        raise MisfitError
    return RankTable(
        version="1.0",
        status=_text(table.get("status")),
        servers=tuple(
            _server(server, ("server_list", index)) for index, server in enumerate(_array(table.get("server_list")))
        ),
        declared_servers=None if count is None else _number(count),
        extra=_extra(table, _TABLE_KEYS),
    )


def to_value(table: RankTable) -> dict[str, Any]:
    """The value of a file: known keys in the order of MindSpore's tools, then the others in theirs."""
    count = {} if table.declared_servers is None else {"server_count": str(table.declared_servers)}
    return {
        "version": table.version,
        **count,
        "server_list": [_server_value(server) for server in table.servers],
        "status": table.status,
        **table.extra,
    }


def _server(value: object, at: Pointer) -> Server:
    server = _object(value)
    extra = _extra(server, _SERVER_KEYS)
    _texts(extra, _SERVER_TEXTS)
    devices = enumerate(_array(server.get("device")))
    return Server(
        id=_text(server.get("server_id")),
        devices=tuple(_device(device, (*at, "device", index)) for index, device in devices),
        extra=extra,
        at=at,
    )


def _device(value: object, at: Pointer) -> Device:
    device = _object(value)
    extra = _extra(device, _DEVICE_KEYS)
    _texts(extra, _DEVICE_TEXTS)
    return Device(
        id=_number(device.get("device_id")),
        ip=_text(device["device_ip"]) if "device_ip" in device else None,
        rank=_number(device.get("rank_id")),
        extra=extra,
        at=at,
    )


def _server_value(server: Server) -> dict[str, Any]:
    devices = [_device_value(device) for device in server.devices]
    return {"server_id": server.id, "device": devices, **server.extra}


def _device_value(device: Device) -> dict[str, Any]:
    ip = {} if device.ip is None else {"device_ip": device.ip}
    return {"device_id": str(device.id), **ip, "rank_id": str(device.rank), **device.extra}


def _extra(value: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    if value.keys() == known:  # nearly every device of a large table
        return {}
    return {key: item for key, item in value.items() if key not in known}


def _texts(extra: dict[str, Any], keys: tuple[str, ...]) -> None:
    """Keys that may be absent, but hold a text where they are there."""
    if extra:
        for key in keys:
            if key in extra:
                _text(extra[key])


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MisfitError
    return value


def _array(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise MisfitError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise MisfitError
    return value


def _number(value: object) -> int:
    if not (isinstance(value, str) and len(value) <= _MAX_DIGITS and value.isascii() and value.isdecimal()):
        raise MisfitError
    return int(value)
