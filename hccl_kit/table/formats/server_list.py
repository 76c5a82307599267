"""Versions 1.0 and 1.2: a list of servers, every value a string (R5, R7). 1.2 adds super pods.

Devices are read column by column, so a table of 65,536 takes a few dozen calls and not a million.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice, repeat
from json.encoder import encode_basestring
from operator import itemgetter
from typing import Any

from hccl_kit.table.formats.shape import StructureError, array, extra, mapping, number, numbers, text, texts
from hccl_kit.table.model import NOTHING, Device, PodServer, RankTable, Server, SuperPod
from hccl_kit.table.pointer import Pointer

VERSIONS = ("1.0", "1.2")
_TABLE_KEYS = frozenset(("version", "status", "server_count", "server_list"))
_SERVER_KEYS = frozenset(("server_id", "device"))
_DEVICE_KEYS = frozenset(("device_id", "device_ip", "rank_id"))
_POD_KEYS = frozenset(("super_pod_id", "server_list"))
_PODS, _SDID = "super_pod_list", "super_device_id"
SERVER_TEXTS = ("host_ip",)
DEVICE_TEXTS = (
    "device_port",
    "device_vnic_port",
    "backup_device_port",
    "host_port",
    "backup_device_ip",
    "net_position",
    "net_protocol",
)


def from_value(value: object) -> RankTable:
    """The table in the value of a file. Raises StructureError if its structure is wrong.

    Law: `from_value(to_value(t)) == t`.
    """
    table = mapping(value)
    version = text(table.get("version"))
    count = table.get("server_count")
    if version not in VERSIONS or (count is None and "server_count" in table):
        raise StructureError
    has_pods = version == "1.2" and _PODS in table
    return RankTable(
        version=version,
        status=text(table.get("status")),
        servers=_servers(array(table.get("server_list")), with_sdid=version == "1.2"),
        super_pods=tuple(_pods(table[_PODS])) if has_pods else None,
        declared_servers=None if count is None else number(count),
        extra=extra(table, _TABLE_KEYS | {_PODS} if has_pods else _TABLE_KEYS),
    )


def to_value(table: RankTable) -> dict[str, Any]:
    """The value of a file: known keys in the order of MindSpore's tools, then unknown keys in their order."""
    return {
        **_head(table),
        "server_list": [
            {"server_id": server.id, "device": list(map(_device_value, server.devices)), **server.extra}
            for server in table.servers
        ],
        **_tail(table),
    }


def to_text(table: RankTable) -> str:
    """Exactly `json.dumps(to_value(table), indent=4, ensure_ascii=False)`, in a tenth of the time.

    Devices, nearly all of a table, are formatted here; json formats the rest.
    """
    gap = "__servers__"
    frame = json.dumps({**_head(table), "server_list": gap, **_tail(table)}, indent=4, ensure_ascii=False)
    before, _, after = frame.partition(f'"server_list": "{gap}"')
    servers = ",\n".join(map(_server_text, table.servers))
    listed = f"[\n{servers}\n    ]" if servers else "[]"
    return f'{before}"server_list": {listed}{after}'


def _head(table: RankTable) -> dict[str, Any]:
    count = {} if table.declared_servers is None else {"server_count": str(table.declared_servers)}
    return {"version": table.version, **count}


def _tail(table: RankTable) -> dict[str, Any]:
    pods = {} if table.super_pods is None else {_PODS: list(map(_pod_value, table.super_pods))}
    return {"status": table.status, **pods, **table.extra}


def is_server(value: object, *, with_sdid: bool = False) -> bool:
    """Whether the value is a server of version 1.0."""
    try:
        _servers([value], with_sdid=with_sdid)
    except StructureError:
        return False
    return True


def is_server_with_sdids(value: object) -> bool:
    """Whether the value is a server of version 1.2."""
    return is_server(value, with_sdid=True)


def _servers(values: list[Any], *, with_sdid: bool) -> tuple[Server, ...]:
    lists = [array(mapping(server).get("device")) for server in values]
    places: list[Pointer] = [("server_list", s, "device", d) for s, one in enumerate(lists) for d in range(len(one))]
    devices = _devices(list(chain.from_iterable(lists)), places, with_sdid=with_sdid)
    items = iter(devices)
    servers = []
    for index, (value, one) in enumerate(zip(values, lists, strict=True)):
        unknown = extra(value, _SERVER_KEYS)
        if unknown:
            texts(unknown, SERVER_TEXTS)
        held = tuple(islice(items, len(one)))
        servers.append(Server(text(value.get("server_id")), held, unknown, ("server_list", index)))
    return tuple(servers)


def _devices(values: list[Any], places: list[Pointer], *, with_sdid: bool) -> list[Device]:
    if not set(map(type, values)) <= {dict}:
        raise StructureError
    try:
        ids, ranks = (numbers(list(map(itemgetter(key), values))) for key in ("device_id", "rank_id"))
    except KeyError:
        raise StructureError from None
    ips = [value.get("device_ip") for value in values]
    if not set(map(type, ips)) <= {str}:  # absent, null or of another type
        ips = [text(value["device_ip"]) if "device_ip" in value else None for value in values]
    known = _DEVICE_KEYS | {_SDID} if with_sdid else _DEVICE_KEYS
    sdids = _sdids(values) if with_sdid else repeat(None)
    rows = zip(ids, ips, ranks, sdids, repeat(None), repeat(()), _extras(values, known), places)
    return list(map(partial(tuple.__new__, Device), rows))  # Device._make, which is not written in C


def _sdids(values: Sequence[Mapping[str, Any]]) -> Iterable[int | None]:
    if all(_SDID in value for value in values):
        return numbers(list(map(itemgetter(_SDID), values)))
    return [number(value[_SDID]) if _SDID in value else None for value in values]


def _extras(values: Sequence[Mapping[str, Any]], known: frozenset[str]) -> Iterable[Mapping[str, Any]]:
    keys = set().union(*values)
    if keys <= known:
        return repeat(NOTHING)
    extras = [extra(value, known) for value in values]
    for key in keys.intersection(DEVICE_TEXTS):
        if not {type(value[key]) for value in values if key in value} <= {str}:
            raise StructureError
    return extras


def _pods(value: object) -> Iterator[SuperPod]:
    for index, item in enumerate(array(value)):
        pod = mapping(item)
        servers = tuple(
            PodServer(text(mapping(server).get("server_id")), extra(server, ("server_id",)))
            for server in array(pod.get("server_list"))
        )
        yield SuperPod(text(pod.get("super_pod_id")), servers, extra(pod, _POD_KEYS), (_PODS, index))


def _pod_value(pod: SuperPod) -> dict[str, Any]:
    servers = [{"server_id": server.id, **server.extra} for server in pod.servers]
    return {"super_pod_id": pod.id, "server_list": servers, **pod.extra}


def _device_value(device: Device) -> dict[str, Any]:
    ip = {} if device.ip is None else {"device_ip": device.ip}
    sdid = {} if device.sdid is None else {_SDID: str(device.sdid)}
    return {"device_id": str(device.id), **ip, **sdid, "rank_id": str(device.rank), **device.extra}


def _server_text(server: Server) -> str:
    devices = ",\n".join(map(_device_text, server.devices))
    listed = f"[\n{devices}\n            ]" if devices else "[]"
    head = f'        {{\n            "server_id": {encode_basestring(server.id)},\n            "device": {listed}'
    return f"{head}{_members(server.extra, 12)}\n        }}"


def _device_text(device: Device) -> str:
    lead = "\n                    "
    if device.ip is not None and device.sdid is None and not device.extra:  # nearly every device of a large table
        return (
            f'                {{{lead}"device_id": "{device.id}",{lead}"device_ip": {encode_basestring(device.ip)},'
            f'{lead}"rank_id": "{device.rank}"\n                }}'
        )
    ip = "" if device.ip is None else f'{lead}"device_ip": {encode_basestring(device.ip)},'
    sdid = "" if device.sdid is None else f'{lead}"{_SDID}": "{device.sdid}",'
    more = _members(device.extra, 20)
    return (
        f'                {{{lead}"device_id": "{device.id}",{ip}{sdid}{lead}"rank_id": "{device.rank}"{more}'
        "\n                }"
    )


def _members(more: Mapping[str, Any], indent: int) -> str:
    """The text of further members of an object whose members are indented by `indent` spaces."""
    if not more:
        return ""
    if set(map(type, more.values())) == {str}:  # nearly always
        lead = ",\n" + " " * indent
        return "".join([f"{lead}{encode_basestring(key)}: {encode_basestring(text)}" for key, text in more.items()])
    lines = json.dumps(dict(more), indent=4, ensure_ascii=False).split("\n")[1:-1]
    return "," + "".join("\n" + " " * (indent - 4) + line for line in lines)
