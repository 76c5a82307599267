"""Proves tables of template 2: groups of instances with their devices, in the cloud form and in the lab form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hccl_kit.check.quick.cards import (
    are_short,
    groups_of,
    require_addresses,
    require_cards,
    require_ranks,
    require_server_ids,
)
from hccl_kit.check.quick.plain import Counted, Proven, arrays, flat, require
from hccl_kit.table.products import Product

if TYPE_CHECKING:
    from hccl_kit.table.columns import Columns

_LAB, _LOCATION, _CHIP = "deploy_mode", "para_plane_nic_location", "chip_info"
_NIC_COUNT, _NICS = "para_plane_nic_num", "para_plane_nic_name"
_LAB_TEXTS = (_LAB, _LOCATION, _CHIP, "board_id", _NIC_COUNT)


def prove(value: Mapping[str, Any], product: Product, counted: Counted) -> Proven:
    """The numbers of servers and devices of a table, and its columns. Raises one of DOUBTS if it may not be valid."""
    is_lab = _LAB in value
    keys = ("status", "group_count", "group_list", *((_LAB, _LOCATION) if is_lab else ()))
    require(not counted.top(value, keys, (*_LAB_TEXTS, _NICS) if is_lab else ()))
    if is_lab:
        _require_lab_head(value, counted)
    groups = value["group_list"]
    group_keys = ("group_name", "instance_count", "device_num" if is_lab else "device_count", "instance_list")
    (names, instances, devices, lists, *hosts), _ = counted.columns(
        groups, (*group_keys, "server_num") if is_lab else group_keys
    )
    counted.texts(names)
    sizes = arrays(lists)
    require(isinstance(groups, list), value["group_count"] == str(len(groups)), len(set(names)) == len(names))
    require(are_short(names), min(sizes) > 0, instances == [str(size) for size in sizes])
    (labels, servers, held), _ = counted.columns(
        flat(lists), ("rank_id" if is_lab else "pod_name", "server_id", "devices")
    )
    counted.texts(servers)
    cards = arrays(held)
    (ids, ips), _ = counted.columns(flat(held), ("device_id", "device_ip"))
    require(min(cards) > 0, devices == [str(sum(group)) for group in groups_of(cards, sizes)])
    by_server: dict[str, list[Any]] = {}
    for server, found in zip(servers, groups_of(ids, cards), strict=True):
        by_server.setdefault(server, []).extend(found)
    if is_lab:
        require(max(cards) == 1, hosts == [[str(len(set(group))) for group in groups_of(servers, sizes)]])
        require(sum(map(int, hosts[0])) == len(by_server))  # no server in two groups
        require_ranks(labels, cards, in_blocks=False)
    else:
        require(len(set(labels)) == len(labels), counted.texts(labels) != "", all(labels), are_short(labels))
        require(len(by_server) == 1 or min(sizes) > 1)  # HCCL reads no address of a pod that is alone in its group
    require_server_ids([*by_server])
    require_cards(map(tuple, by_server.values()), product, servers=len(by_server))
    require_addresses(counted, ips)
    changes = sum(server != before for server, before in zip(servers, (None, *servers), strict=False))
    if changes > len(by_server):  # the devices of a server are in several places
        return len(by_server), len(ids), None
    of_instances = labels, servers, cards
    return len(by_server), len(ids), lambda: _columns(by_server, ips, names, of_instances, sizes, is_lab=is_lab)


def _columns(
    by_server: Mapping[str, Sequence[str]],
    ips: Sequence[str],
    names: Sequence[str],
    instances: tuple[Sequence[Any], ...],
    sizes: Sequence[int],
    *,
    is_lab: bool,
) -> Columns:
    from hccl_kit.table.columns import Columns, GroupColumns  # noqa: PLC0415 - a check does not need them

    groups = zip(names, *(groups_of(column, sizes) for column in instances), strict=True)
    cards = list(map(tuple, by_server.values()))
    ranks = instances[0] if is_lab else ()
    return Columns([*by_server], cards, ips, ranks, groups=[GroupColumns(*group) for group in groups])


def _require_lab_head(value: Mapping[str, Any], counted: Counted) -> None:
    counted.texts([value[key] for key in _LAB_TEXTS if key in value])
    nics = value.get(_NICS, [])
    require(isinstance(nics, list), value.get(_NIC_COUNT, str(len(nics))) == str(len(nics)))
    counted.texts(nics)
    require(value[_LOCATION] == "device", value.get(_CHIP, "910") == "910")
