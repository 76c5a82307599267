"""Template 2: a list of groups, every value a string, no version. For 910 only.

Two forms. Cloud: an instance is a pod with a name and any number of devices, and the file has no ranks: HCCL sorts
by server id, then by device id. Lab, recognised by the key `deploy_mode` with any value: an instance is one device with
its rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hccl_kit.table.bounds import LAB, NIC_LOCATION
from hccl_kit.table.formats.shape import StructureError, array, extra, mapping, number, text
from hccl_kit.table.model import NOTHING, Device, Group, Instance, RankTable, Server
from hccl_kit.table.pointer import Pointer

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
        text(table.get(NIC_LOCATION))
    groups = tuple(_groups(array(table.get("group_list")), is_lab=LAB in table))
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


def _groups(values: Sequence[object], *, is_lab: bool) -> Iterator[Group]:
    groups = list(map(mapping, values))
    lists = [array(group.get("instance_list")) for group in groups]
    numbers = _numbers([mapping(instance) for instances_of in lists for instance in instances_of], is_lab=is_lab)
    for g, (group, instances_of) in enumerate(zip(groups, lists, strict=True)):
        at = ("group_list", g, "instance_list")
        # In the cloud form HCCL reads no address if the group has one pod.
        needs_ip = is_lab or len(instances_of) > 1
        instances = [
            _instance(instance, numbers, (*at, i), is_lab=is_lab, needs_ip=needs_ip)
            for i, instance in enumerate(instances_of)
        ]
        yield Group(
            name=text(group.get("group_name")),
            instances=tuple(instances),
            declared_instances=number(group.get("instance_count")),
            declared_devices=number(group.get("device_num" if is_lab else "device_count")),
            declared_servers=number(group.get("server_num")) if is_lab else None,
            extra=extra(group, _LAB_GROUP if is_lab else _CLOUD_GROUP),
        )


def _numbers(instances: Sequence[Mapping[str, Any]], *, is_lab: bool) -> Iterator[tuple[int, int]]:
    """The id and the rank of each device, in the order of the document.

    In the lab form the rank is that of its instance; if an instance has several devices, it is ambiguous (HK230), and
    they are numbered as they come. In the cloud form HCCL sorts by server id as text, then by device id.
    """
    ids: list[int] = []
    on_server: dict[str, list[int]] = {}
    for instance in instances:
        devices = array(instance.get("devices"))
        places = range(len(ids), len(ids) + len(devices))
        on_server.setdefault(text(instance.get("server_id")), []).extend(places)
        ids += [number(mapping(device).get("device_id")) for device in devices]
    if is_lab:
        given = [number(instance.get("rank_id")) for instance in instances]
        is_clear = all(len(instance["devices"]) == 1 for instance in instances)
        return zip(ids, given if is_clear else range(len(ids)), strict=True)
    order = [place for server in sorted(on_server) for place in sorted(on_server[server], key=ids.__getitem__)]
    ranks = [0] * len(ids)
    for rank, place in enumerate(order):
        ranks[place] = rank
    return zip(ids, ranks, strict=True)


def _instance(
    value: Mapping[str, Any], numbers: Iterator[tuple[int, int]], at: Pointer, *, is_lab: bool, needs_ip: bool
) -> Instance:
    devices = [
        _device(device, next(numbers), (*at, "devices", d), needs_ip=needs_ip)
        for d, device in enumerate(value["devices"])
    ]
    return Instance(
        server=value["server_id"],
        devices=tuple(devices),
        pod=None if is_lab else text(value.get("pod_name")),
        rank=number(value.get("rank_id")) if is_lab else None,
        extra=extra(value, _LAB_INSTANCE if is_lab else _CLOUD_INSTANCE),
    )


def _device(value: Mapping[str, Any], numbers: tuple[int, int], at: Pointer, *, needs_ip: bool) -> Device:
    """A device. A `device_ip` that is not a string and that HCCL does not read is kept as an unknown key."""
    ip, unknown = value.get("device_ip"), NOTHING
    if not isinstance(ip, str):
        ip = text(ip) if needs_ip else None
        unknown = extra(value, _DEVICE_KEYS - {"device_ip"})
    elif not _DEVICE_KEYS.issuperset(value):
        unknown = extra(value, _DEVICE_KEYS)
    return Device(numbers[0], ip, numbers[1], None, None, (), unknown, at)


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
