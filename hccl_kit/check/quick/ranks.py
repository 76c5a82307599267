"""Proves tables of version 2.0: ranks with their networks and addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, compress, repeat
from typing import Any

from hccl_kit.check.optional_keys import OPTIONAL
from hccl_kit.check.quick.cards import groups_of, require_no_typo
from hccl_kit.check.quick.plain import Counted, Proven, arrays, flat, require
from hccl_kit.table.hccl_parser import bounds
from hccl_kit.table.ip import AF_INET, AF_INET6, EID_DIGITS, HEX, PORT, inet_pton, reserved_range
from hccl_kit.table.products import Product

_RANK_KEYS = ("rank_id", "device_id", "local_id", "level_list")
_LEVEL_KEYS = ("net_layer", "net_instance_id", "rank_addr_list")
_ADDRESS_KEYS = ("addr_type", "addr", "ports")
_PORTS = ("device_port", "host_port")
_INNERMOST = "TOPO_FILE_DESC"


def prove(value: Mapping[str, Any], _product: Product, counted: Counted) -> Proven:
    """The numbers of servers and devices of a table. Raises one of DOUBTS if it may not be valid."""
    optional = OPTIONAL["2.0"]["table"]
    extra = counted.top(value, ("version", "rank_count", "rank_list"), optional)
    require_no_typo(extra, optional)
    counted.texts([value[key] for key in optional if key in value])
    require(value.get("status") != "", value.get("detour", "") in ("true", "false", ""))
    ranks = value["rank_list"]
    (numbers, ids, places, lists), more = counted.columns(ranks, _RANK_KEYS, _PORTS)
    _require_integers(numbers, 0, bounds.MAX_RANKS - 1)
    _require_integers(ids, 0, bounds.BACKUP)
    _require_integers(places, 0, bounds.BACKUP - 1)
    _require_integers([value["rank_count"]], 1, bounds.MAX_RANKS)
    require(isinstance(ranks, list), value["rank_count"] == len(numbers) == len(set(numbers)))
    require(max(numbers) < len(numbers))
    for ports in more.values():
        _require_integers([port for port in ports if port is not None], 1, bounds.MAX_PORT)
    sizes = arrays(lists)
    require(min(sizes) >= 1, max(sizes) <= bounds.MAX_LEVELS)
    inner = _require_levels(flat(lists), sizes, counted)
    require(len(set(zip(inner, places, strict=True))) == len(ranks))
    return len(set(inner)), len(ranks), None


def _require_levels(levels: Sequence[Any], sizes: Sequence[int], counted: Counted) -> list[str]:
    """All networks of all ranks; returns the name of the innermost one of each rank."""
    (layers, names, lists), more = counted.columns(levels, _LEVEL_KEYS, ("net_type", "net_attr"))
    _require_integers(layers, 0, bounds.MAX_LAYER)
    require(all(list(order) == sorted(set(order)) for order in set(groups_of(layers, sizes))))
    counted.texts(names)
    lengths = set(map(len, names))
    require(min(lengths) >= 1, max(lengths) <= bounds.MAX_TEXT)
    if "net_attr" in more:
        counted.texts([text for text in more["net_attr"] if text is not None])
    counts = arrays(lists)
    require(max(counts) <= bounds.MAX_ADDRESSES)
    networks = set(zip(layers, names, counts, more.get("net_type") or repeat(None), strict=False))
    types = {(layer, kind) for layer, _, _, kind in networks}
    require({kind for _, kind in types} <= {*bounds.NET_TYPES, None})
    require({kind for layer, kind in types if layer == 0} <= {_INNERMOST})
    require(len({network[:2] for network in networks}) == len({network[:3] for network in networks}))
    _require_addresses(flat(lists), counted)
    return [names[start] for start in accumulate(sizes[:-1], initial=0)]


def _require_addresses(addresses: Sequence[Any], counted: Counted) -> None:
    (types, texts, lists), more = counted.columns(addresses, _ADDRESS_KEYS, ("plane_id",))
    counted.texts(texts)
    planes = [text for text in more.get("plane_id", ()) if text is not None]
    counted.texts(planes)
    kinds = set(types)
    require(kinds <= {*bounds.ADDRESS_TYPES}, max(map(len, planes), default=0) <= bounds.MAX_TEXT)
    for kind in kinds:
        _require_form(kind, list(compress(texts, map(kind.__eq__, types))))
    sizes = arrays(lists)
    require(min(sizes, default=1) >= 1, max(sizes, default=1) <= bounds.MAX_PORTS)
    require(all(re.fullmatch(PORT, port) for port in set(flat(lists))))


def _require_form(kind: str, texts: Sequence[str]) -> None:
    if kind == "EID":
        require(set(map(len, texts)) == {EID_DIGITS}, re.fullmatch(HEX, "".join(texts)) is not None)
    else:
        require(all(map(inet_pton, repeat(AF_INET if kind == "IPV4" else AF_INET6), texts)))
        require(not any(map(reserved_range, texts)))


def _require_integers(values: Sequence[Any], least: int, most: int) -> None:
    require(set(map(type, values)) == {int}, least <= min(values), max(values) <= most)
