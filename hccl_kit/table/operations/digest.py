"""A digest of the meaning of a table, which ignores formatting and order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii
from typing import Any

from hccl_kit.table.model import Device, Group, RankTable, Server, SuperPod

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def digest(table: RankTable) -> str:
    """SHA-256 (64 hexadecimal digits) of the table's meaning.

    White space and the order of keys, servers, devices, super pods and groups are ignored. A missing `server_count` or
    `rank_count` is equal to a correct one. Everything else is included, also unknown keys.
    """
    return hashlib.sha256(_text(_meaning(table)).encode()).hexdigest()


def _meaning(table: RankTable) -> list[Any]:
    servers = len(table.servers) if table.declared_servers is None else table.declared_servers
    ranks = table.world_size if table.declared_ranks is None else table.declared_ranks
    groups = len(table.groups) if table.declared_groups is None else table.declared_groups
    return [
        [table.version, table.status, servers, ranks, groups, _keys(table.extra)],
        sorted(map(_server, table.servers)),
        None if table.super_pods is None else sorted(map(_pod, table.super_pods)),
        sorted(map(_group, table.groups)),
    ]


def _server(server: Server) -> str:
    """The text that `_text` gives for the list of the id, the texts of the devices, and the unknown keys."""
    devices = ",".join(map(encode_basestring_ascii, sorted(map(_device, server.devices))))
    extra = _text(_keys(server.extra)) if server.extra else "{}"
    return f"[{encode_basestring_ascii(server.id)},[{devices}],{extra}]"


def _device(device: Device) -> str:
    if not (device.ip is None or device.levels or device.extra or device.local_id is not None):
        sdid = "null" if device.sdid is None else device.sdid  # nearly every device of a large table
        return f"[{device.rank},{device.id},{encode_basestring_ascii(device.ip)},{sdid},null,[],{{}}]"
    levels = [
        [
            [level.layer, level.instance, level.type, _keys(level.extra)],
            [[one.type, one.text, one.ports, _keys(one.extra)] for one in level.addresses],
        ]
        for level in device.levels
    ]
    return _text([device.rank, device.id, device.ip, device.sdid, device.local_id, levels, _keys(device.extra)])


def _pod(pod: SuperPod) -> str:
    return _text([pod.id, sorted(_text([one.id, _keys(one.extra)]) for one in pod.servers), _keys(pod.extra)])


def _group(group: Group) -> str:
    instances = sorted(
        _text([one.pod, one.server, one.rank, sorted(map(_device, one.devices)), _keys(one.extra)])
        for one in group.instances
    )
    declared = [group.declared_instances, group.declared_devices, group.declared_servers]
    return _text([group.name, declared, instances, _keys(group.extra)])


def _keys(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Unknown keys as a type that `json` accepts."""
    return dict(extra) if extra else {}


def _text(value: object) -> str:
    return _ENCODER.encode(value)
