"""Conversion of a table to another version, with a list of everything that the other version cannot hold.

Every conversion goes through version 1.0, the common subset: servers, cards, addresses, ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import listed, row
from hccl_kit.table.bounds import READY
from hccl_kit.table.document import shown
from hccl_kit.table.formats import server_list
from hccl_kit.table.formats.shape import StructureError
from hccl_kit.table.model import NOTHING, Address, Device, Level, RankTable, Server

TARGETS = {"1.0": "1.0", "1.2": "1.2", "2.0": "2.0", "template2": ""}
"""Target name -> table version."""
MAX_KEYS = 10
"""The maximum number of keys in one message."""
_SDID, _PODS = "super_device_id", "super_pod_list"
_PORTS = frozenset(("device_port", "host_port"))
_OF_TABLE = Message("table.keys-of-table", "table")
_OF_GROUPS = Message("table.keys-of-groups", "groups")
_OF_INSTANCES = Message("table.keys-of-instances", "instances")
_OF_SERVERS = Message("table.keys-of-servers", "servers")
_OF_DEVICES = Message("table.keys-of-devices", "devices")
"""Keys with strings in versions 1.x and numbers in 2.0."""
_INNERMOST, _OUTERMOST = 0, 3
"""Layers of version 2.0 in HCCL's manual for Atlas 950: cards linked by the topology file, and the network of all
hosts, which a card reaches through its own host."""
_TO_HOST = "d2h"


def convert(table: RankTable, target: str) -> tuple[RankTable, tuple[Message, ...]]:
    """The valid `table` in the version `target` (a key of TARGETS), and a message for everything that is lost.

    Raises KitError if there is no such version, or the table cannot be converted to it.
    """
    if target not in TARGETS:
        raise KitError(
            "table.convert-target",
            "{target!r} is not a version to convert to; accepted: {versions}",
            target=target,
            versions=row(TARGETS),
        )
    version = TARGETS[target]
    if table.version == "1.1":
        raise KitError(
            "table.convert-from-1.1",
            "a table of version 1.1 has ranks without NPU, which other versions do not support",
        )
    if version == table.version:
        raise KitError("table.convert-same", "the table already is of {form}", form=table.form)
    lost: list[Message] = []
    plain = _as_server_list(table, lost)
    if version == "1.2":
        return _with_pods(plain, lost), tuple(lost)
    lost += _lost_super_pods(plain)
    plain = _without_pods(plain)
    if version == "2.0":
        return _as_rank_list(plain, lost), tuple(lost)
    return (plain if version == "1.0" else _as_groups(plain, lost)), tuple(lost)


def _as_server_list(table: RankTable, lost: list[Message]) -> RankTable:
    """The table in a version 1.x; what it cannot hold is appended to `lost`."""
    if table.version == "2.0":
        lost += _lost_networks(table)
        devices = {server.id: tuple(map(_with_ip, server.devices)) for server in table.servers}
    elif table.version == "":
        lost += _lost_groups(table)
        devices = {server.id: server.devices for server in table.servers}
    else:
        return table
    servers = tuple(Server(name, held) for name, held in devices.items())
    return RankTable("1.0", table.status or READY, servers, declared_servers=len(servers))


def _lost_groups(table: RankTable) -> Iterator[Message]:
    instances = [instance for group in table.groups for instance in group.instances]
    if len(table.groups) > 1:
        yield Message(
            "table.lost-groups", "the {count} groups become one: only template 2 has groups", count=len(table.groups)
        )
    if any(instance.pod not in (None, instance.server) for instance in instances):
        yield Message(
            "table.lost-pods",
            "the names of the pods are left out: only template 2 has them; processes are identified by RANK_ID",
        )
    yield from _left_out(_OF_TABLE, [table.extra])
    yield from _left_out(_OF_GROUPS, [group.extra for group in table.groups])
    yield from _left_out(_OF_INSTANCES, [instance.extra for instance in instances])


def _lost_networks(table: RankTable) -> Iterator[Message]:
    yield Message(
        "table.lost-networks",
        "ports, planes, local ids and all networks but one are left out: only version 2.0 has them",
    )
    yield Message("table.networks-to-servers", "the networks of the innermost layer become servers")
    without = sum(not _ips(device) for device in table.every)
    if without:
        yield Message(
            "table.lost-eids",
            "{count} of {devices} devices get no device_ip: their addresses are EIDs, which only 2.0 has",
            count=without,
            devices=table.world_size,
        )
    yield from _left_out(_OF_TABLE, [table.extra])
    yield from _left_out(_OF_DEVICES, [device.extra for device in table.every], carried=_PORTS)


def _with_pods(table: RankTable, lost: list[Message]) -> RankTable:
    """As version 1.2. Super pods that a table of 1.0 has as unknown keys are kept as super pods."""
    try:
        whole = server_list.from_value({**server_list.to_value(table), "version": "1.2"})
    except StructureError:
        raise KitError(
            "table.convert-super-pods",
            '"{pods}" or "{sdid}" in the table are not valid in version 1.2',
            fix='set "version": "1.2" in a copy and run hccl-check on it',
            pods=_PODS,
            sdid=_SDID,
        ) from None
    if whole.super_pods is None:
        message = Message(
            "table.no-pods-to-convert",
            '"{pods}" is missing, and "{sdid}" with it: HCCL treats such servers as plain servers, which'
            " connect over RoCE; hccl-gen reads both from npu-smi",
            pods=_PODS,
            sdid=_SDID,
        )
        lost.append(message)
    return whole


def _lost_super_pods(table: RankTable) -> Iterator[Message]:
    if table.super_pods:
        yield Message(
            "table.lost-super-pods",
            "the super pods ({count}) are left out: only version 1.2 has them",
            count=len(table.super_pods),
        )
    if any(device.sdid is not None for device in table.every):
        yield Message("table.lost-sdids", "{key} of the devices is left out: only version 1.2 has it", key=_SDID)


def _without_pods(table: RankTable) -> RankTable:
    servers = tuple(
        Server(server.id, tuple(device._replace(sdid=None) for device in server.devices), server.extra)
        for server in table.servers
    )
    return RankTable("1.0", table.status, servers, declared_servers=len(servers), extra=table.extra)


def _as_groups(table: RankTable, lost: list[Message]) -> RankTable:
    """As template 2 in the cloud form, in which HCCL numbers the ranks by server id and device id."""
    lost += _lost_keys(table)
    pairs = sorted(table.devices(), key=lambda pair: (pair[0].id, pair[1].id))
    moved = sum(device.rank != rank for rank, (_, device) in enumerate(pairs))
    if moved:
        lost.append(
            Message(
                "table.moved-ranks",
                "{moved} of {count} ranks change: HCCL sorts by server id as text, then by device id",
                moved=moved,
                count=len(pairs),
            )
        )
    ranks = {(server.id, device.id): rank for rank, (server, device) in enumerate(pairs)}
    servers = tuple(
        Server(
            server.id,
            tuple(Device(device.id, _first(device.ip), ranks[server.id, device.id]) for device in server.devices),
        )
        for server in table.servers
    )
    several = sum(_first(device.ip) != device.ip for device in table.every)
    if several:
        lost.append(
            Message(
                "table.lost-addresses",
                "{count} devices keep only the first of their addresses: template 2 has one for each",
                count=several,
            )
        )
    lost += _left_out(_OF_DEVICES, [device.extra for device in table.every])
    return RankTable("", table.status, servers)


def _first(ip: str | None) -> str | None:
    """The first of comma-separated addresses."""
    return ip and ip.split(",")[0]


def _as_rank_list(table: RankTable, lost: list[Message]) -> RankTable:
    """As version 2.0: a server becomes a network of the innermost layer, RoCE the network of all hosts."""
    lost += _lost_keys(table)
    lost += _left_out(_OF_DEVICES, [device.extra for device in table.every], carried=_PORTS)
    message = Message(
        "table.missing-layer",
        "the addresses of layer {layer} are missing: no other version has them. Add the EIDs and ports of every"
        " card to rank_addr_list before a job starts",
        layer=_INNERMOST,
    )
    lost += [message, Message("table.local-ids", "local_id is set to device_id; compare it with the topology file")]
    servers = tuple(
        Server(server.id, tuple(_with_levels(device, server.id) for device in server.devices))
        for server in table.servers
    )
    return RankTable("2.0", table.status, servers, declared_ranks=table.world_size)


def _with_levels(device: Device, network: str) -> Device:
    levels = [Level(_INNERMOST, network, (), "TOPO_FILE_DESC")]
    texts = [text for text in (device.ip or "").split(",") if text]
    if texts:
        addresses = tuple(Address("IPV6" if ":" in text else "IPV4", text, (_TO_HOST,)) for text in texts)
        levels.append(Level(_OUTERMOST, "cluster", addresses, "CLOS"))
    ports = {key: int(value) for key, value in device.extra.items() if key in _PORTS}
    return Device(device.id, None, device.rank, local_id=device.id, levels=tuple(levels), extra=ports or NOTHING)


def _with_ip(device: Device) -> Device:
    extra = {key: str(value) for key, value in device.extra.items() if key in _PORTS}
    return Device(device.id, ",".join(_ips(device)) or None, device.rank, extra=extra or NOTHING)


def _ips(device: Device) -> list[str]:
    """The IP addresses of the outermost network (version 2.0) that has any."""
    for level in reversed(device.levels):
        texts = [address.text for address in level.addresses if address.type != "EID"]
        if texts:
            return list(dict.fromkeys(texts))  # one address may be reached by several ports
    return []


def _lost_keys(table: RankTable) -> Iterator[Message]:
    yield from _left_out(_OF_TABLE, [table.extra])
    yield from _left_out(_OF_SERVERS, [server.extra for server in table.servers])


def _left_out(
    whose: Message, extras: Iterable[Mapping[str, Any]], carried: frozenset[str] = frozenset()
) -> Iterator[Message]:
    keys = sorted(set().union(*extras) - carried)
    if keys:
        yield Message(
            "table.lost-keys",
            "keys of the {whose} are left out: {keys}",
            whose=whose,
            keys=listed(map(shown, keys), MAX_KEYS),
        )
