"""A digest of the meaning of a table, which ignores formatting and order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from hccl_kit.table.model import Device, Group, RankTable, Server, SuperPod


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
    return _text([server.id, sorted(map(_device, server.devices)), _keys(server.extra)])


def _device(device: Device) -> str:
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
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
