"""How HCCL reads version 1.1: node by node, rank by rank (topoinfo_ranktableHeterog.cc), and its checks."""

from __future__ import annotations

from typing import Any

from hccl_kit.table.bounds import HOST, MAX_NAME, MODES, SUB_VERSION, bytes_of
from hccl_kit.table.hccl_parser.cluster import Cluster, Rank, check_families, check_ranks, own_entry
from hccl_kit.table.hccl_parser.reading import Reading
from hccl_kit.table.ip import Address, usable


def read_nodes(reading: Reading, table: Any) -> Cluster:
    """The ranks of a table of version 1.1."""
    sub_version = reading.optional(table, SUB_VERSION)
    if sub_version not in (None, "1.2") or bytes_of(reading.text(table, "collective_id")) > MAX_NAME:
        reading.stop()
    nodes = reading.non_empty(table, "node_list")
    if reading.optional(table, "mode") not in (None, *MODES):
        reading.stop()
    taken: set[str] = set()
    ranks: list[Rank] = []
    for node in reading.items(nodes):
        name = reading.text(node, "node_addr")
        if bytes_of(name) > MAX_NAME:
            reading.stop()
        reading.unique(name, taken)
        address = reading.address(name)
        for rank in reading.items(reading.non_empty(node, "ranks")):
            card, number, ip = _rank(reading, rank, address, is_strict=sub_version is not None)
            ranks.append(Rank(number, name, card, usable(address), (usable(ip),)))
    return Cluster(tuple(ranks), len(nodes))


def check_nodes(reading: Reading, cluster: Cluster) -> None:
    """Check the rank numbers and, with several nodes, the address families."""
    if len({rank.host is None for rank in cluster.ranks}) > 1:
        reading.stop()
    ranks = sorted(cluster.ranks, key=lambda rank: rank.number)
    if own_entry(cluster.ranks[0], ranks) is None:
        reading.stop()
    check_ranks(reading, ranks)
    check_families(reading, cluster, ranks)


def _rank(reading: Reading, rank: Any, node: Address, *, is_strict: bool) -> tuple[int, int, Address]:
    """The card, the number and the address of a rank. With `heterog_sub_version`, every key is required."""
    text = reading.text if is_strict else reading.optional
    number = reading.text(rank, "rank_id")
    card = text(rank, "device_id")
    device_id = HOST if card is None else reading.signed(card)
    port = text(rank, "port")
    if port is not None:
        reading.signed(port)
    ip = (reading.text if is_strict else reading.tolerated)(rank, "rank_ip")
    address = reading.address(ip) if ip else node
    if is_strict:
        for key in ("sdid", "bind_device_id") if device_id == HOST else ("sdid",):
            reading.signed(reading.text(rank, key))
    return device_id, reading.unsigned(number), address
