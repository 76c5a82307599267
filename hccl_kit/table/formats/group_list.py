"""Template 2: a list of groups, every value a string, no version. For 910 only.

Two forms. Cloud: an instance is a pod with a name and any number of devices, and the file has no ranks: HCCL sorts
by server id, then by device id. Lab, recognised by the key `deploy_mode` with any value: an instance is one device with
its rank. Devices are read column by column, as in `server_list`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, repeat
from typing import Any

from hccl_kit.table.formats.shape import StructureError, array, extra, mapping, number, numbers, text
from hccl_kit.table.model import NOTHING, Device, Group, Instance, RankTable, Server
from hccl_kit.table.pointer import Pointer

LAB = "deploy_mode"
"""A table with this key has the lab form; the value is kept in `extra`."""
LOCATION = "para_plane_nic_location"
WORLD_GROUP = "hccl_world_group"
"""HCCL's name of the group of all ranks, used for a new table."""
_TABLE_KEYS = frozenset(("status", "group_count", "group_list"))
_CLOUD_GROUP = frozenset(("group_name", "instance_count", "device_count", "instance_list"))
_LAB_GROUP = frozenset(("group_name", "instance_count", "device_num", "server_num", "instance_list"))
_CLOUD_INSTANCE = frozenset(("pod_name", "server_id", "devices"))
_LAB_INSTANCE = frozenset(("rank_id", "server_id", "devices"))
_DEVICE_KEYS = frozenset(("device_id", "device_ip"))


def from_value(value: object) -> RankTable:
    """The table in the value of a file. Raises StructureError if its structure is wrong.

    Law: `from_value(to_value(t)) == t`.
    """
    table = mapping(value)
    if "version" in table:
        raise StructureError
    if LAB in table:
        text(table.get(LOCATION))
    groups = tuple(_groups(list(map(mapping, array(table.get("group_list")))), is_lab=LAB in table))
    return RankTable(
        version="",
        status=text(table.get("status")),
        servers=_servers(groups),
        extra=extra(table, _TABLE_KEYS),
        groups=groups,
        declared_groups=number(table.get("group_count")),
    )


def to_value(table: RankTable) -> dict[str, Any]:
    """The value of a file: the lab form if `extra` has the key LAB, otherwise the cloud form.

    A table without groups is written as one group: a pod for every server, named like it, or an instance for every
    device in the order of the ranks. The cloud form has no ranks, so HCCL may number them differently.
    """
    is_lab = LAB in table.extra
    groups = table.groups or (_one_group(table, is_lab=is_lab),)
    count = len(groups) if table.declared_groups is None else table.declared_groups
    return {
        "status": table.status,
        "group_count": str(count),
        "group_list": [_group_value(group, is_lab=is_lab) for group in groups],
        **table.extra,
    }


def in_document(pointer: Pointer) -> Pointer:
    """The pointer into a file for a pointer with the keys of version 1.0 (`rank_id`, `device`)."""
    *way, key = pointer or ("",)
    if key == "rank_id" and way[-2:-1] == ["devices"]:
        return (*way[:-2], key)
    return (*way, "devices") if key == "device" else pointer


def _groups(values: list[Mapping[str, Any]], *, is_lab: bool) -> Iterator[Group]:
    lists = [array(group.get("instance_list")) for group in values]
    instances = _instances(lists, is_lab=is_lab)
    for group, listed in zip(values, lists, strict=True):
        yield Group(
            name=text(group.get("group_name")),
            instances=tuple(islice(instances, len(listed))),
            declared_instances=number(group.get("instance_count")),
            declared_devices=number(group.get("device_num" if is_lab else "device_count")),
            declared_servers=number(group.get("server_num")) if is_lab else None,
            extra=extra(group, _LAB_GROUP if is_lab else _CLOUD_GROUP),
        )


def _instances(lists: list[list[Any]], *, is_lab: bool) -> Iterator[Instance]:
    """The instances of all groups with their devices, in the order of the document."""
    values = [mapping(value) for one in lists for value in one]
    servers = [text(value.get("server_id")) for value in values]
    held = [array(value.get("devices")) for value in values]
    devices = [mapping(device) for one in held for device in one]
    ids = numbers([device.get("device_id") for device in devices])
    labels: Iterable[tuple[str | None, int | None]]
    if is_lab:
        ranks = numbers([value.get("rank_id") for value in values])
        labels = zip(repeat(None), ranks, strict=False)
        # With several devices, the rank is ambiguous (HK230): they are numbered in the order of the file.
        given: Sequence[int] = ranks if {len(one) for one in held} == {1} else range(len(devices))
    else:
        labels = [(text(value.get("pod_name")), None) for value in values]
        given = _sorted_ranks([server for server, one in zip(servers, held, strict=True) for _ in one], ids)
    ips: Sequence[str | None] = [device.get("device_ip") for device in devices]
    if not set(map(type, ips)) <= {str}:  # absent, null or of another type
        # In the cloud form HCCL reads no address if the group has one pod.
        needy = [is_lab or len(one) > 1 for one in lists for _ in one]
        ips = [_address(device, needed=need) for one, need in zip(held, needy, strict=True) for device in one]
    is_plain = set().union(*devices) <= _DEVICE_KEYS and None not in ips
    extras = repeat(NOTHING) if is_plain else list(map(_extra, devices, ips))
    rows = zip(ids, ips, given, repeat(None), repeat(None), repeat(()), extras, _places(lists, held), strict=False)
    made = map(partial(tuple.__new__, Device), rows)
    known = _LAB_INSTANCE if is_lab else _CLOUD_INSTANCE
    for server, one, (pod, rank), value in zip(servers, held, labels, values, strict=True):
        yield Instance(server, tuple(islice(made, len(one))), pod, rank, extra(value, known))


def _address(device: Mapping[str, Any], *, needed: bool) -> str | None:
    ip = device.get("device_ip")
    return text(ip) if needed else ip if isinstance(ip, str) else None


def _extra(device: Mapping[str, Any], ip: str | None) -> Mapping[str, Any]:
    """The unknown keys of a device, and its `device_ip` if it is not a string and HCCL does not read it."""
    return extra(device, _DEVICE_KEYS if ip is not None else _DEVICE_KEYS - {"device_ip"})


def _places(lists: list[list[Any]], held: list[list[Any]]) -> Iterator[Pointer]:
    ways = (("group_list", g, "instance_list", i) for g, one in enumerate(lists) for i in range(len(one)))
    return ((*way, "devices", d) for way, one in zip(ways, held, strict=True) for d in range(len(one)))


def _sorted_ranks(servers: Sequence[str], ids: Sequence[int]) -> list[int]:
    """The ranks that HCCL assigns in the cloud form: by server id as text, then by device id."""
    ranks = [0] * len(ids)
    for rank, index in enumerate(sorted(range(len(ids)), key=lambda index: (servers[index], ids[index]))):
        ranks[index] = rank
    return ranks


def _servers(groups: Sequence[Group]) -> tuple[Server, ...]:
    """The servers in the order of their first instance, which is also their place in the document."""
    held: dict[str, list[Device]] = {}
    first: dict[str, Pointer] = {}
    for g, group in enumerate(groups):
        for i, instance in enumerate(group.instances):
            held.setdefault(instance.server, []).extend(instance.devices)
            first.setdefault(instance.server, ("group_list", g, "instance_list", i))
    return tuple([Server(name, tuple(devices), at=first[name]) for name, devices in held.items()])


def _one_group(table: RankTable, *, is_lab: bool) -> Group:
    if is_lab:
        ranks = tuple(Instance(server.id, (device,), rank=device.rank) for server, device in table.by_rank())
        return Group(WORLD_GROUP, ranks, table.world_size, table.world_size, len(table.servers))
    pods = tuple(Instance(server.id, server.devices, pod=server.id) for server in table.servers)
    return Group(WORLD_GROUP, pods, len(pods), table.world_size)


def _group_value(group: Group, *, is_lab: bool) -> dict[str, Any]:
    devices = {"device_num" if is_lab else "device_count": str(group.declared_devices)}
    servers = {"server_num": str(group.declared_servers)} if is_lab else {}
    return {
        "group_name": group.name,
        "instance_count": str(group.declared_instances),
        **devices,
        **servers,
        "instance_list": [_instance_value(instance, is_lab=is_lab) for instance in group.instances],
        **group.extra,
    }


def _instance_value(instance: Instance, *, is_lab: bool) -> dict[str, Any]:
    label = {"rank_id": str(instance.rank)} if is_lab else {"pod_name": instance.pod}
    devices = [
        {"device_id": str(d.id), **({} if d.ip is None else {"device_ip": d.ip}), **d.extra} for d in instance.devices
    ]
    return {**label, "server_id": instance.server, "devices": devices, **instance.extra}
