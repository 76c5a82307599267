"""The differences in meaning between two tables: formatting and the order of keys, servers and devices are ignored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat, zip_longest
from typing import Any, NamedTuple, TypeVar

from hccl_kit.base.message import Message
from hccl_kit.table.model import Address, Device, Group, Instance, Level, PodServer, RankTable, Server, SuperPod

T = TypeVar("T")
_json = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode
_NO_LEVEL = Level(-1, "", ())
_EVERY_RANK = Message("table.diff.every-rank", "every rank")


class Change(NamedTuple):
    """One difference: the subject and its values as JSON in the first and in the second table, None if absent.

    `server` and `device` (its id) are None if the difference concerns the whole table or the whole server.
    """

    what: str
    before: str | None
    after: str | None
    server: str | None = None
    device: int | None = None


def diff(first: RankTable, second: RankTable) -> tuple[Change, ...]:
    """Every difference in the order of the first table; empty if the tables have the same meaning.

    If all ranks of the table, or of a server, are shifted by the same number, that is one change. Duplicates, which no
    valid table has, are compared in their order.
    """
    return (
        *_table_changes(first, second),
        *_super_pod_changes(first, second),
        *_group_changes(first, second),
        *_server_list_changes(first, second),
    )


def _table_changes(first: RankTable, second: RankTable) -> Iterator[Change]:
    yield from _unequal("version", first.form, second.form)
    yield from _unequal("status", _json(first.status), _json(second.status))
    for what, before, after in zip(
        ("server_count", "rank_count", "group_count"), _counts(first), _counts(second), strict=True
    ):
        yield from _unequal(what, before, after)
    yield from _key_changes(first.extra, second.extra)


def _counts(table: RankTable) -> tuple[str, str, str]:
    return (
        _count(table.declared_servers, len(table.servers)),
        _count(table.declared_ranks, table.world_size),
        _count(table.declared_groups, len(table.groups)),
    )


def _count(declared: int | None, actual: int) -> str:
    """An optional count is a difference only if it is wrong."""
    if declared in (None, actual):
        return Message("table.diff.right", "right")
    return Message("table.diff.wrong", "{declared} for {actual}", declared=declared, actual=actual)


def _super_pod_changes(first: RankTable, second: RankTable) -> Iterator[Change]:
    if first.super_pods is None or second.super_pods is None:
        counts = (
            None if pods is None else Message("table.diff.pods", "{number} super pods", number=len(pods))
            for pods in (first.super_pods, second.super_pods)
        )
        yield from _unequal("super_pod_list", *counts)
        return
    before, after = (_keyed(table.super_pods or (), lambda pod: pod.id) for table in (first, second))
    for name, old, new in _pairs(before, after):
        what = Message("table.diff.pod", "super pod {name}", name=_json(name))
        if old and new:
            yield from _key_changes(old.extra, new.extra, what)
        else:
            yield Change(what, _servers(old), _servers(new))


def _group_changes(first: RankTable, second: RankTable) -> Iterator[Change]:
    before, after = (_keyed(table.groups, lambda group: group.name) for table in (first, second))
    for name, old, new in _pairs(before, after):
        what = Message("table.diff.group", "group {name}", name=_json(name))
        if old is None or new is None:
            yield Change(what, _instances(old), _instances(new))
            continue
        counts = Message("table.diff.counts", "counts of {whose}", whose=what)
        yield from _unequal(counts, _group_counts(old), _group_counts(new))
        yield from _key_changes(old.extra, new.extra, what)
        instances = (_keyed(group.instances, lambda instance: (instance.pod, instance.rank)) for group in (old, new))
        for (pod, rank), earlier, later in _pairs(*instances):
            part = f"rank {rank}" if pod is None else Message("table.diff.instance", "pod {name}", name=_json(pod))
            named = _part(part, what)
            yield from _unequal(named, _instance(earlier), _instance(later))
            yield from _key_changes(earlier.extra if earlier else {}, later.extra if later else {}, named)


def _group_counts(group: Group) -> str:
    instances = _count(group.declared_instances, len(group.instances))
    devices = _count(group.declared_devices, sum(len(instance.devices) for instance in group.instances))
    servers = _count(group.declared_servers, len({instance.server for instance in group.instances}))
    return Message(
        "table.diff.group-counts",
        "instances {instances}, devices {devices}, servers {servers}",
        instances=instances,
        devices=devices,
        servers=servers,
    )


def _instance(instance: Instance | None) -> str | None:
    return instance and Message(
        "table.diff.where",
        "server {server}, devices {devices}",
        server=_json(instance.server),
        devices=sorted(device.id for device in instance.devices),
    )


def _server_list_changes(first: RankTable, second: RankTable) -> Iterator[Change]:
    before, after = (_keyed(table.servers, lambda server: server.id) for table in (first, second))
    both = [(old, after[key]) for key, old in before.items() if key in after]
    shift = _shift([pair for old, new in both for pair in _common(old, new)])
    if shift:
        yield Change(_EVERY_RANK, "rank", f"rank {shift:+d}")
    for name, old, new in _pairs(before, after):
        if old and new:
            for change in _server_changes(old, new, shift):
                yield change._replace(server=name)
        else:
            yield Change(Message("table.diff.server", "server"), _device_count(old), _device_count(new), server=name)
    come_or_gone = {name for name, _ in before.keys() ^ after.keys()}
    for name, home, new_home in _pairs(*_homes(first, second)):
        if name not in come_or_gone:
            yield from (change._replace(server=name) for change in _home_changes(home, new_home))


def _homes(*tables: RankTable) -> list[dict[tuple[Any, int], tuple[str, PodServer]]]:
    """The super pod of every server, if both tables have super pods."""
    if any(table.super_pods is None for table in tables):
        return [{} for _ in tables]
    pod_servers = [[(pod.id, server) for pod in table.super_pods or () for server in pod.servers] for table in tables]
    return [_keyed(servers_of, lambda pair: pair[1].id) for servers_of in pod_servers]


def _home_changes(before: tuple[str, PodServer] | None, after: tuple[str, PodServer] | None) -> Iterator[Change]:
    home = Message("table.diff.home", "super pod")
    yield from _unequal(home, before and _json(before[0]), after and _json(after[0]))
    for change in _key_changes(before[1].extra if before else {}, after[1].extra if after else {}):
        yield change._replace(what=Message("table.diff.in-pod", "{key} in its super pod", key=change.what))


def _server_changes(before: Server, after: Server, shift: int) -> Iterator[Change]:
    yield from _key_changes(before.extra, after.extra)
    if not shift and _are_plain(before.devices) and before.devices == after.devices:
        return
    server_shift = 0 if shift else _shift(_common(before, after))
    if server_shift:
        yield Change(_EVERY_RANK, "rank", f"rank {server_shift:+d}")
    for device_id, old, new in _pairs(_devices(before), _devices(after)):
        if old and new:
            for change in _device_changes(old._replace(rank=old.rank + (shift or server_shift)), new, old.rank):
                yield change._replace(device=device_id)
        else:
            ranks = old and f"rank {old.rank}", new and f"rank {new.rank}"
            yield Change(Message("table.diff.device", "device"), *ranks, device=device_id)


def _are_plain(devices: Sequence[Device]) -> bool:
    """Whether the values of the devices are texts and numbers only: in other values, 1 and true are equal in Python."""
    return not any(device.extra or device.levels for device in devices)


def _device_changes(moved: Device, after: Device, rank: int) -> Iterator[Change]:
    if moved[:-2] == after[:-2] and not (moved.levels or moved.extra or after.extra):
        return
    if moved.rank != after.rank:
        yield Change("rank", str(rank), str(after.rank))
    for what, old, new in (
        (Message("table.diff.address", "address"), moved.ip, after.ip),
        ("super_device_id", moved.sdid, after.sdid),
        ("local_id", moved.local_id, after.local_id),
    ):
        yield from _unequal(what, *(None if value is None else _json(value) for value in (old, new)))
    for level, new_level in zip_longest(moved.levels, after.levels, fillvalue=_NO_LEVEL):
        yield from _level_changes(level, new_level)
    yield from _key_changes(moved.extra, after.extra)


def _level_changes(before: Level, after: Level) -> Iterator[Change]:
    if before == after and not (before.extra or any(address.extra for address in before.addresses)):
        return
    what = Message("table.diff.layer", "layer {number}", number=max(before.layer, after.layer))
    yield from _unequal(what, _network(before), _network(after))
    yield from _key_changes(before.extra, after.extra, what)
    for number, (old, new) in enumerate(zip_longest(before.addresses, after.addresses)):
        named = _part(Message("table.diff.address-number", "address {number}", number=number), what)
        yield from _unequal(named, _address(old), _address(new))
        yield from _key_changes(old.extra if old else {}, new.extra if new else {}, named)


def _network(level: Level) -> str | None:
    if level is _NO_LEVEL:
        return None
    return Message(
        "table.diff.network",
        "{network} of layer {layer}, {type}",
        network=_json(level.instance),
        layer=level.layer,
        type=level.type or Message("table.diff.no-type", "no type"),
    )


def _address(address: Address | None) -> str | None:
    return address and Message(
        "table.diff.port",
        "{type} {address} at {ports}",
        type=address.type,
        address=_json(address.text),
        ports=_json(address.ports),
    )


def _key_changes(before: Mapping[str, Any], after: Mapping[str, Any], whose: str = "") -> Iterator[Change]:
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = (_json(extra[key]) if key in extra else None for extra in (before, after))
        if old != new:
            what = Message("table.diff.key", "key {key}", key=_json(key))
            yield Change(_part(what, whose) if whose else what, old, new)


def _part(part: str, whose: str) -> Message:
    return Message("table.diff.part", "{part} of {whose}", part=part, whose=whose)


def _unequal(what: str, before: str | None, after: str | None) -> Iterator[Change]:
    if before != after:
        yield Change(what, before, after)


def _devices(server: Server) -> dict[tuple[Any, int], Device]:
    return _keyed(sorted(server.devices, key=lambda device: device.rank), lambda device: device.id)


def _common(before: Server, after: Server) -> list[tuple[int, int]]:
    """The ranks before and after of the devices that both have."""
    ranks = {device.id: device.rank for device in after.devices}
    return [(device.rank, ranks[device.id]) for device in before.devices if device.id in ranks]


def _shift(ranks: list[tuple[int, int]]) -> int:
    """The common shift of several ranks; 0 if they have none."""
    shifts = {after - before for before, after in ranks}
    return shifts.pop() if len(ranks) > 1 and len(shifts) == 1 else 0


def _keyed(items: Iterable[T], key: Callable[[T], Any]) -> dict[tuple[Any, int], T]:
    """Every item by its key and the number of earlier items with the same key."""
    several = list(items)
    names = list(map(key, several))
    if len(set(names)) == len(names):
        return dict(zip(zip(names, repeat(0)), several, strict=False))
    seen: Counter[Any] = Counter()
    keyed = {}
    for name, item in zip(names, several, strict=True):
        keyed[name, seen[name]] = item
        seen[name] += 1
    return keyed


def _pairs(
    before: Mapping[tuple[Any, int], T], after: Mapping[tuple[Any, int], T]
) -> Iterator[tuple[Any, T | None, T | None]]:
    """Every key with its values on both sides."""
    for key in [*before, *(key for key in after if key not in before)]:
        yield key[0], before.get(key), after.get(key)


def _servers(pod: SuperPod | None) -> str | None:
    return pod and Message("table.diff.servers", "{number} servers", number=len(pod.servers))


def _instances(group: Group | None) -> str | None:
    return group and Message("table.diff.instances", "{number} instances", number=len(group.instances))


def _device_count(server: Server | None) -> str | None:
    return server and Message("table.diff.devices", "{number} devices", number=len(server.devices))
