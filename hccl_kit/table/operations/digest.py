"""A digest of the meaning of a table, which ignores formatting and order."""

from __future__ import annotations

import hashlib
import json

from hccl_kit.table.model import Device, Group, RankTable, Server, SuperPod

_text = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def digest(table: RankTable) -> str:
    """SHA-256 (64 hexadecimal digits) of the table's meaning.

    White space and the order of keys, servers, devices, super pods and groups are ignored. A missing `server_count` or
    `rank_count` is equal to a correct one. Everything else is included, also unknown keys.
    """
    head = [
        table.version,
        table.status,
        len(table.servers) if table.declared_servers is None else table.declared_servers,
        table.world_size if table.declared_ranks is None else table.declared_ranks,
        len(table.groups) if table.declared_groups is None else table.declared_groups,
        dict(table.extra),
    ]
    pods = None if table.super_pods is None else sorted(map(_pod, table.super_pods))
    meaning = [head, sorted(map(_server, table.servers)), pods, sorted(map(_group, table.groups))]
    return hashlib.sha256(_text(meaning).encode()).hexdigest()


def _server(server: Server) -> str:
    return _text([server.id, sorted(map(_device, server.devices)), dict(server.extra)])


def _device(device: Device) -> str:
    levels = [
        [
            [level.layer, level.instance, level.type, dict(level.extra)],
            [[address.type, address.text, address.ports, dict(address.extra)] for address in level.addresses],
        ]
        for level in device.levels
    ]
    return _text([device.rank, device.id, device.ip, device.sdid, device.local_id, levels, dict(device.extra)])


def _pod(pod: SuperPod) -> str:
    return _text([pod.id, sorted(_text([server.id, dict(server.extra)]) for server in pod.servers), dict(pod.extra)])


def _group(group: Group) -> str:
    instances = sorted(
        _text(
            [instance.pod, instance.server, instance.rank, sorted(map(_device, instance.devices)), dict(instance.extra)]
        )
        for instance in group.instances
    )
    declared = [group.declared_instances, group.declared_devices, group.declared_servers]
    return _text([group.name, declared, instances, dict(group.extra)])
