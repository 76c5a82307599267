"""Card addresses for a machine without cards, to try tables and scripts anywhere."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message

DOCUMENTATION = Message("discovery.documentation", "documentation addresses of RFC 5737")
BENCHMARKS = Message("discovery.benchmarks", "addresses of RFC 2544, reserved for benchmarks")
_MANY = ipaddress.IPv4Address("198.18.0.0")
_MANY_SIZE = 1 << 17


def addresses(ids: Sequence[int], *, planes: int) -> dict[int, str]:
    """One address of 192.0.2.0/24 for every card in `ids`.

    The range is reserved for documentation (RFC 5737), so no such table works on a real network. The /24 is divided
    into one block for each of the `planes` (as `Product.planes`: card i belongs to plane i mod planes); no address is
    the first or the last of its block. Raises KitError if an id does not fit into its block.
    """
    block = 256 // planes
    highest = planes * (block - 2) - 1
    if max(ids) > highest:
        raise KitError(
            "discovery.card-not-simulated",
            "card {card} cannot be simulated: the documentation range ends with card {highest}",
            card=max(ids),
            highest=highest,
        )
    return {i: f"192.0.2.{block * (i % planes) + i // planes + 1}" for i in ids}


def cluster_addresses(servers: int, ids: Sequence[int], *, planes: int) -> list[dict[int, str]]:
    """As `addresses` for each of `servers` servers, from 198.18.0.0/15, which RFC 2544 reserves for benchmarks.

    Every plane has its own block, and every server a range of it. Raises KitError if the block is too small.
    """
    block = _MANY_SIZE // planes
    run = max(ids) // planes + 1
    most = (block - 2) // run
    if servers > most:
        raise KitError(
            "discovery.servers-not-simulated",
            "{servers} servers cannot be simulated: 198.18.0.0/15 has room for {most} with these cards",
            servers=servers,
            most=most,
        )
    return [
        {i: str(_MANY + (block * (i % planes) + run * server + i // planes + 1)) for i in ids}
        for server in range(servers)
    ]
