"""A digest of the meaning of a table, which ignores formatting and order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice, repeat
from json.encoder import encode_basestring_ascii
from typing import Any

from hccl_kit.table.columns import Columns
from hccl_kit.table.model import Device, Group, RankTable, Server, SuperPod

_text = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def digest(table: RankTable) -> str:
    """SHA-256 (64 hexadecimal digits) of the table's meaning.

    White space and the order of keys, servers, devices, super pods and groups are ignored. A missing `server_count` or
    `rank_count` is equal to a correct one. Everything else is included, also unknown keys.
    """
    return _digest(table, len(table.servers), table.world_size, map(_server, table.servers), map(_group, table.groups))


def digest_of_columns(frame: RankTable, columns: Columns) -> str:
    """The `digest` of a table from the table without servers or groups, and from its devices."""
    ids, sdids = chain.from_iterable(columns.cards), columns.sdids or repeat("null")
    ranks = columns.given_ranks or columns.ranks()
    # Ranks differ, and quotes come later: these texts have the same order as without the backslashes.
    devices = [
        f'"[{rank},{device},\\"{ip}\\",{sdid},null,[],{{}}]"'
        for rank, device, ip, sdid in zip(ranks, ids, columns.ips, sdids, strict=False)
    ]
    keys = sorted(columns.server_keys)
    unknown = zip(*map(columns.server_keys.__getitem__, keys), strict=True) if keys else repeat(())
    extra = lru_cache(None)(lambda row: _text(dict(zip(keys, row, strict=True))))  # of most servers the same
    sizes = [*map(len, columns.cards)]
    lists = _sorted_lists(devices, sizes)
    servers = [
        f"[{encode_basestring_ascii(name)},[{texts}],{extra(row)}]"
        for name, texts, row in zip(columns.servers, lists, unknown, strict=False)
    ]
    pods = [size for group in columns.groups for size in group.sizes]
    lists = lists if pods == sizes else _sorted_lists(devices, pods)  # most pods are alone on their server
    return _digest(frame, len(servers), len(devices), servers, _groups(columns, lists))


def _sorted_lists(texts: Iterable[str], sizes: Iterable[int]) -> list[str]:
    """The texts in lists of these sizes, each sorted and joined by commas."""
    items = iter(texts)
    return [",".join(sorted(islice(items, size))) for size in sizes]


def _groups(columns: Columns, lists: Iterable[str]) -> Iterator[str]:
    """The texts that `_group` gives, from the lists of the devices of each instance."""
    items, has_ranks = iter(lists), bool(columns.given_ranks)
    for name, labels, servers, sizes in columns.groups:
        pods = repeat("null") if has_ranks else map(encode_basestring_ascii, labels)
        ranks = labels if has_ranks else repeat("null")
        texts = [
            f"[{pod},{encode_basestring_ascii(server)},{rank},[{devices}],{{}}]"
            for pod, server, rank, devices in zip(pods, servers, ranks, islice(items, len(sizes)), strict=False)
        ]
        declared = [len(sizes), sum(sizes), len(set(servers)) if has_ranks else None]
        yield _text([name, declared, sorted(texts), {}])


def _digest(table: RankTable, servers: int, ranks: int, of_servers: Iterable[str], of_groups: Iterable[str]) -> str:
    """The digest of a table with so many servers and ranks, and these texts of its servers and groups."""
    meaning = [
        [
            table.version,
            table.status,
            servers if table.declared_servers is None else table.declared_servers,
            ranks if table.declared_ranks is None else table.declared_ranks,
            len(table.groups) if table.declared_groups is None else table.declared_groups,
            _keys(table.extra),
        ],
        sorted(of_servers),
        None if table.super_pods is None else sorted(map(_pod, table.super_pods)),
        sorted(of_groups),
    ]
    return hashlib.sha256(_text(meaning).encode()).hexdigest()


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
