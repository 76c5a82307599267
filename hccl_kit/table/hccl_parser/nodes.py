"""How HCCL reads version 1.1: node by node, rank by rank (topoinfo_ranktableHeterog.cc), and its checks."""

from __future__ import annotations

from typing import Any

from hccl_kit.table.bounds import HOST, MAX_NAME, MODES, SUB_VERSION, bytes_of
from hccl_kit.table.hccl_parser.cluster import Cluster, Rank, check_families, check_ranks, own_entry
from hccl_kit.table.hccl_parser.reading import Reading
from hccl_kit.table.ip import Address, usable
from hccl_kit.table.pointer import Pointer

_NODES = "node_list"


def read_nodes(reading: Reading, table: Any) -> Cluster:
    """The ranks of a table of version 1.1."""
    sub_version = reading.optional(table, SUB_VERSION, ())
    if sub_version not in (None, "1.2"):
        reading.stop((SUB_VERSION,))
    if bytes_of(reading.text(table, "collective_id", ())) > MAX_NAME:
        reading.stop(("collective_id",))
    nodes = reading.non_empty(table, _NODES, ())
    if reading.optional(table, "mode", ()) not in (None, *MODES):
        reading.stop(("mode",))
    taken: set[str] = set()
    ranks: list[Rank] = []
    for index, node in enumerate(reading.items(nodes, (_NODES,))):
        at = (_NODES, index)
        name = reading.text(node, "node_addr", at)
        if bytes_of(name) > MAX_NAME:
            reading.stop((*at, "node_addr"))
        reading.unique(name, taken, (*at, "node_addr"))
        address = reading.address(name, (*at, "node_addr"))
        values = reading.non_empty(node, "ranks", at)
        for r, rank in enumerate(reading.items(values, (*at, "ranks"))):
            place = (*at, "ranks", r)
            card, number, ip = _rank(reading, rank, place, address, is_strict=sub_version is not None)
            ranks.append(Rank(number, name, card, place, usable(address), (usable(ip),)))
    return Cluster(tuple(ranks), len(nodes))


def check_nodes(reading: Reading, cluster: Cluster) -> None:
    """Check the rank numbers and, with several nodes, the address families."""
    if len({rank.host is None for rank in cluster.ranks}) > 1:
        reading.stop((_NODES,))
    ranks = sorted(cluster.ranks, key=lambda rank: rank.number)
    if own_entry(cluster.ranks[0], ranks) is None:
        reading.stop((*cluster.ranks[0].at, "rank_id"))
    check_ranks(reading, ranks)
    check_families(reading, cluster, ranks)


def _rank(reading: Reading, rank: Any, at: Pointer, node: Address, *, is_strict: bool) -> tuple[int, int, Address]:
    """The card, the number and the address of a rank. With `heterog_sub_version`, every key is required."""
    text = reading.text if is_strict else reading.optional
    number = reading.text(rank, "rank_id", at)
    card = text(rank, "device_id", at)
    device_id = HOST if card is None else reading.signed(card, (*at, "device_id"))
    port = text(rank, "port", at)
    if port is not None:
        reading.signed(port, (*at, "port"))
    ip = (reading.text if is_strict else reading.tolerated)(rank, "rank_ip", at)
    address = reading.address(ip, (*at, "rank_ip")) if ip else node
    if is_strict:
        for key in ("sdid", "bind_device_id") if device_id == HOST else ("sdid",):
            reading.signed(reading.text(rank, key, at), (*at, key))
    return device_id, reading.unsigned(number, (*at, "rank_id")), address
