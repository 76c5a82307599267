"""A digest of the meaning of a table, which ignores formatting and order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    servers, groups = (
        map(encode_basestring_ascii, sorted(texts))
        for texts in (map(_server, table.servers), map(_group, table.groups))
    )
    return _digest(table, len(table.servers), table.world_size, servers, groups)


def digest_of_columns(frame: RankTable, columns: Columns) -> str:
    """The `digest` of a table from the table without servers or groups, and from its devices.

    The texts of devices are written with the backslashes that they have inside the texts of servers and groups:
    escaping a text of megabytes takes longer. Names and ranks, which differ, are sorted as `digest` sorts the whole
    texts.
    """
    ids, sdids = list(chain.from_iterable(columns.cards)), columns.sdids or repeat("null")
    ranks: Sequence[object] = columns.given_ranks or list(columns.ranks())
    devices: Iterable[str] = (
        rf"\"[{rank},{device},\\\"{ip}\\\",{sdid},null,[],{{}}]\""
        for rank, device, ip, sdid in zip(ranks, ids, columns.ips, sdids, strict=False)
    )
    of_servers = [*map(len, columns.cards)]
    of_groups = [size for group in columns.groups for size in group.sizes]
    groups: list[str] = []
    lists: Iterable[str]
    if of_servers == of_groups:  # each instance is a server, as in the cloud form of template 2
        lists = [*_sorted_lists(devices, of_servers)]
        groups = _groups(columns, _escaped(lists))
    else:
        if of_groups:
            devices = [*devices]
            groups = _groups(columns, _sorted_lists(_escaped(devices), of_groups))
        lists = _sorted_lists(devices, of_servers)
    keys = sorted(columns.server_keys)
    unknown = zip(*map(columns.server_keys.__getitem__, keys), strict=True) if keys else repeat(())
    extra = lru_cache(None)(lambda row: _escaped([_text(dict(zip(keys, row, strict=True)))])[0])  # most are equal
    names = list(map(encode_basestring_ascii, columns.servers))
    servers = sorted(
        [
            (name, f'"[{escaped},[{texts}],{extra(row)}]"')
            for name, escaped, texts, row in zip(names, _escaped(names), lists, unknown, strict=False)
        ]
    )
    return _digest(frame, len(servers), len(ids), [text for _, text in servers], groups)


def _sorted_lists(texts: Iterable[str], sizes: Iterable[int]) -> Iterator[str]:
    """The texts in lists of these sizes, each sorted and joined by commas; one after the other, to need less memory."""
    items = iter(texts)
    return (",".join(sorted(islice(items, size))) for size in sizes)


def _groups(columns: Columns, lists: Iterable[str]) -> list[str]:
    """The texts that `_group` gives, as JSON strings, sorted; `lists` are the devices of each instance."""
    items, has_ranks = iter(lists), bool(columns.given_ranks)
    groups = []
    for name, labels, servers, sizes in columns.groups:
        pods = repeat("null") if has_ranks else map(encode_basestring_ascii, labels)
        ranks = labels if has_ranks else repeat("null")
        named_servers = map(encode_basestring_ascii, servers)
        heads = [f"[{pod},{server},{rank}," for pod, server, rank in zip(pods, named_servers, ranks, strict=False)]
        instances = sorted(
            [
                (head, rf"\"{escaped}[{devices}],{{}}]\"")
                for head, escaped, devices in zip(
                    heads, _escaped(_escaped(heads)), islice(items, len(sizes)), strict=False
                )
            ]
        )
        declared = [len(sizes), sum(sizes), len(set(servers)) if has_ranks else None]
        named = encode_basestring_ascii(name)
        texts = ",".join(text for _, text in instances)
        groups.append((named, f'"[{_escaped([named])[0]},{_text(declared)},[{texts}],{{}}]"'))
    return [text for _, text in sorted(groups)]


def _escaped(texts: Iterable[str]) -> list[str]:
    """Each text, which is JSON in ASCII, as it stands inside a JSON string."""
    whole = "\n".join(texts)  # JSON in ASCII holds no line break; one by one takes four times as long
    return whole.replace("\\", "\\\\").replace('"', '\\"').split("\n")


def _digest(table: RankTable, servers: int, ranks: int, of_servers: Iterable[str], of_groups: Iterable[str]) -> str:
    """The digest of a table from the numbers of servers and ranks, and the JSON strings of its servers and groups."""
    head = [
        table.version,
        table.status,
        servers if table.declared_servers is None else table.declared_servers,
        ranks if table.declared_ranks is None else table.declared_ranks,
        len(table.groups) if table.declared_groups is None else table.declared_groups,
        _keys(table.extra),
    ]
    pods = None if table.super_pods is None else sorted(map(_pod, table.super_pods))
    meaning = hashlib.sha256(f"[{_text(head)},[".encode())
    _add(meaning, of_servers)
    meaning.update(f"],{_text(pods)},[".encode())
    _add(meaning, of_groups)
    meaning.update(b"]]")
    return meaning.hexdigest()


def _add(meaning: hashlib._Hash, texts: Iterable[str]) -> None:
    """Add texts with commas between them, one by one: all in one text would take megabytes, twice."""
    comma = b""
    for text in texts:
        meaning.update(comma)
        meaning.update(text.encode())
        comma = b","


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
