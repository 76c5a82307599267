"""A table in another version: what the other version can hold is carried over, what it cannot is named.

All ways lead over version 1.0, which holds what all have in common: servers, cards, addresses, ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import listed
from hccl_kit.table.document import shown
from hccl_kit.table.formats import server_list
from hccl_kit.table.formats.shape import MisfitError
from hccl_kit.table.model import NOTHING, Address, Device, Level, RankTable, Server

TARGETS = {"1.0": "1.0", "1.2": "1.2", "2.0": "2.0", "template2": ""}
"""The name of a target -> the version of its tables."""
MAX_KEYS = 10
"""Keys that a line names."""
_SDID, _PODS = "super_device_id", "super_pod_list"
_PORTS = frozenset(("device_port", "host_port"))
"""What versions 1.x write as texts and 2.0 as numbers."""
_INNERMOST, _OUTERMOST = 0, 3
"""Layers of version 2.0 as HCCL's manual for Atlas 950 uses them: cards that the topology file links, and the network
of all hosts, which a card reaches through its own."""
_TO_HOST = "d2h"


def convert(table: RankTable, target: str) -> tuple[RankTable, tuple[str, ...]]:
    """The sound `table` in the version `target` (a key of TARGETS), and a line for everything it could not carry.

    KitError where no table of that version can be made.
    """
    version = TARGETS[target]
    if table.version == "1.1":
        raise KitError("a table of version 1.1 has ranks without NPU, which no other version can hold")
    if version == table.version:
        raise KitError(f"the table is of {table.form} already")
    lost: list[str] = []
    plain = _as_server_list(table, lost)
    if version == "1.2":
        return _with_pods(plain, lost), tuple(lost)
    lost += _of_super_pods(plain)
    plain = _without_pods(plain)
    if version == "2.0":
        return _as_rank_list(plain, lost), tuple(lost)
    return (plain if version == "1.0" else _as_groups(plain, lost)), tuple(lost)


def _as_server_list(table: RankTable, lost: list[str]) -> RankTable:
    """The table as one of versions 1.x; `lost` gets what those cannot hold."""
    if table.version == "2.0":
        lost += _of_networks(table)
        devices = {server.id: tuple(map(_with_ip, server.devices)) for server in table.servers}
    elif table.version == "":
        lost += _of_groups(table)
        devices = {server.id: server.devices for server in table.servers}
    else:
        return table
    servers = tuple(Server(name, held) for name, held in devices.items())
    return RankTable("1.0", table.status or "completed", servers, declared_servers=len(servers))


def _of_groups(table: RankTable) -> Iterator[str]:
    instances = [instance for group in table.groups for instance in group.instances]
    if len(table.groups) > 1:
        yield f"the {len(table.groups)} groups become one: only template 2 has groups"
    if any(instance.pod not in (None, instance.server) for instance in instances):
        yield "the names of the pods are left out: only template 2 has them; a process knows itself by RANK_ID"
    yield from _left_out("table", [table.extra])
    yield from _left_out("groups", [group.extra for group in table.groups])
    yield from _left_out("instances", [instance.extra for instance in instances])


def _of_networks(table: RankTable) -> Iterator[str]:
    yield "ports, planes, local ids and all networks but one are left out: only version 2.0 has them"
    yield "the networks of the innermost layer are taken for servers"
    without = sum(not _ips(device) for device in table.every)
    if without:
        yield f"{without} of {table.world_size} devices get no device_ip: their addresses are EIDs, which only 2.0 has"
    yield from _left_out("table", [table.extra])
    yield from _left_out("devices", [device.extra for device in table.every], carried=_PORTS)


def _with_pods(table: RankTable, lost: list[str]) -> RankTable:
    """As version 1.2. Super pods that a table of 1.0 carries as unknown keys are taken for what they are."""
    try:
        whole = server_list.from_value({**server_list.to_value(table), "version": "1.2"})
    except MisfitError:
        raise KitError(
            f'"{_PODS}" or "{_SDID}" in the table are not as version 1.2 has them',
            hint='write "version": "1.2" into a copy and let hccl-check say where',
        ) from None
    if whole.super_pods is None:
        lost.append(
            f'"{_PODS}" is missing, and "{_SDID}" with it: HCCL takes such a table for one of plain servers, which'
            " meet over RoCE; hccl-gen asks npu-smi for both"
        )
    return whole


def _of_super_pods(table: RankTable) -> Iterator[str]:
    if table.super_pods:
        yield f"the super pods ({len(table.super_pods)}) are left out: only version 1.2 has them"
    if any(device.sdid is not None for device in table.every):
        yield f"{_SDID} of the devices is left out: only version 1.2 has it"


def _without_pods(table: RankTable) -> RankTable:
    servers = tuple(
        Server(server.id, tuple(device._replace(sdid=None) for device in server.devices), server.extra)
        for server in table.servers
    )
    return RankTable("1.0", table.status, servers, declared_servers=len(servers), extra=table.extra)


def _as_groups(table: RankTable, lost: list[str]) -> RankTable:
    """As template 2, the cloud form, in which HCCL numbers the ranks by server id and device id itself."""
    lost += _of_servers(table)
    pairs = sorted(table.devices(), key=lambda pair: (pair[0].id, pair[1].id))
    moved = sum(device.rank != rank for rank, (_, device) in enumerate(pairs))
    if moved:
        lost.append(f"{moved} of {len(pairs)} ranks change: HCCL sorts by server id as text, then by device id")
    ranks = {(server.id, device.id): rank for rank, (server, device) in enumerate(pairs)}
    servers = tuple(
        Server(server.id, tuple(Device(one.id, _first(one.ip), ranks[server.id, one.id]) for one in server.devices))
        for server in table.servers
    )
    several = sum(_first(device.ip) != device.ip for device in table.every)
    if several:
        lost.append(f"{several} devices keep only the first of their addresses: template 2 has one for each")
    lost += _left_out("devices", [device.extra for device in table.every])
    return RankTable("", table.status, servers)


def _first(ip: str | None) -> str | None:
    """The first of addresses that are parted by commas."""
    return ip and ip.split(",")[0]


def _as_rank_list(table: RankTable, lost: list[str]) -> RankTable:
    """As version 2.0: a server is a network of the innermost layer, and RoCE the network of all hosts."""
    lost += _of_servers(table)
    lost += _left_out("devices", [device.extra for device in table.every], carried=_PORTS)
    lost.append(
        f"the addresses of layer {_INNERMOST} are missing: no other version has them. The EIDs and ports of every card"
        " belong into rank_addr_list before a job starts"
    )
    lost.append("local_id is taken to be device_id; the topology file tells the place of every card")
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
    """The IP addresses of the outermost network of version 2.0 that has some."""
    for level in reversed(device.levels):
        texts = [address.text for address in level.addresses if address.type != "EID"]
        if texts:
            return list(dict.fromkeys(texts))  # one address may be reached by several ports
    return []


def _of_servers(table: RankTable) -> Iterator[str]:
    yield from _left_out("table", [table.extra])
    yield from _left_out("servers", [server.extra for server in table.servers])


def _left_out(whose: str, extras: Iterable[Mapping[str, Any]], carried: frozenset[str] = frozenset()) -> Iterator[str]:
    keys = sorted(set().union(*extras) - carried)
    if keys:
        yield f"keys of the {whose} are left out: {listed(map(shown, keys), MAX_KEYS)}"
