"""The checks of HCCL after reading a table of versions 1.x, in its order.

In a job, every rank runs them in its own process. Here they run rank by rank in the order of the table; checks that do
not depend on the rank run once, for the first one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hccl_kit.table.bounds import CARDS_OF_SERVER
from hccl_kit.table.finding import INVALID
from hccl_kit.table.hccl_parser.reading import Reading
from hccl_kit.table.ip import Address
from hccl_kit.table.model import trimmed
from hccl_kit.table.products import Product

_FAMILIES = "EI0001"


class Rank(NamedTuple):
    """One rank as HCCL stores it: `host` and `ips` hold None for an address that is not set."""

    number: int
    server: str
    card: int
    host: Address | None = None
    ips: tuple[Address | None, ...] = (None,)
    is_on_host: bool = False
    sdid: int | None = None


class Cluster(NamedTuple):
    """All ranks in the order of the document, and the number of servers and super pods."""

    ranks: tuple[Rank, ...]
    servers: int
    pods: int = 0


def check_ranks(reading: Reading, ranks: Sequence[Rank]) -> None:
    """The sorted ranks are 0 to N-1 (R17)."""
    if any(rank.number != index for index, rank in enumerate(ranks)):
        reading.stop(INVALID)


def check_families(reading: Reading, cluster: Cluster, ranks: Sequence[Rank]) -> None:
    """With several servers, all host addresses have one family, and all device addresses too (R21)."""
    hosts: set[int] = set()
    devices: set[int] = set()
    for rank in ranks if cluster.servers > 1 else ():
        hosts |= {rank.host[0]} if rank.host else set()
        if len(hosts) > 1:
            reading.stop(INVALID)
        devices |= {ip[0] for ip in rank.ips if ip}
        if len(devices) > 1:
            reading.stop(_FAMILIES)


def check_servers(reading: Reading, cluster: Cluster, product: Product) -> None:
    """The checks of versions 1.0 and 1.2."""
    ranks = sorted(cluster.ranks, key=lambda rank: rank.number)
    over_hosts = ranks[0].host is not None and not any(ranks[0].ips)
    has_all_hosts = all(rank.host is not None for rank in ranks)
    servers = _Servers(cluster)
    passed: set[tuple[str, bool]] = set()
    for index, asking in enumerate(cluster.ranks):
        rank = own_entry(asking, ranks)
        if rank is None:
            reading.stop(INVALID)
        on_hosts = over_hosts or rank.is_on_host
        if on_hosts and not has_all_hosts:
            reading.stop()
        if index == 0:
            check_ranks(reading, ranks)
            check_families(reading, cluster, ranks)
            servers.check(reading, product)
        if (rank.server, on_hosts) not in passed:
            servers.check_one(reading, product, rank, on_hosts=on_hosts)
            passed.add((rank.server, on_hosts))


def own_entry(asking: Rank, ranks: Sequence[Rank]) -> Rank | None:
    """The entry that the process of a rank uses: the one at its number among the sorted entries."""
    rank = ranks[asking.number] if asking.number < len(ranks) else None
    return rank if rank is not None and rank.number == asking.number else None


class _Servers:
    """The ranks of every server, and the cards with ports, as HCCL compares them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._held: dict[str, list[Rank]] = {}
        for rank in cluster.ranks:
            self._held.setdefault(rank.server, []).append(rank)
        self._trimmed: dict[str, list[Rank]] = {}
        for name, ranks in self._held.items():
            self._trimmed.setdefault(trimmed(name), []).extend(ranks)
        ports = {_cards([rank for rank in ranks if rank.ips[0]]) for ranks in self._held.values()}
        self._ports = ports - {()}

    def check(self, reading: Reading, product: Product) -> None:
        """Equal numbers of cards if the product requires them (R23), no duplicate card (R22)."""
        total = len(self._cluster.ranks)
        if product.equal_counts and {*map(len, self._held.values())} != {total // self._cluster.servers}:
            reading.stop(INVALID)
        if len({(rank.server, rank.card) for rank in self._cluster.ranks}) < total:
            reading.stop(INVALID)

    def check_one(self, reading: Reading, product: Product, rank: Rank, *, on_hosts: bool) -> None:
        """The checks of the server of a rank: its ports, a set of four cards, the number of cards (R24, R25, R27)."""
        cards = _cards(self._held[rank.server])
        total, several = len(self._cluster.ranks), self._cluster.servers > 1 and self._cluster.pods != 1
        if not on_hosts and several and len(cards) == CARDS_OF_SERVER and total == self._cluster.servers * len(cards):
            self._check_ports(reading, rank)
        if product.groups:
            rings = (*product.groups, *product.parser_quads)
            if len(cards) == len(product.groups[0]) and cards not in rings:
                reading.stop(INVALID)
            if len(cards) > 2 and len(cards) not in product.server_counts:
                reading.stop(INVALID)

    def _check_ports(self, reading: Reading, rank: Rank) -> None:
        """All servers have ports on the same cards. HCCL trims the server ids, but looks up the untrimmed id."""
        ranks = self._trimmed.get(rank.server, ())
        ports = _cards([other for other in ranks if other.host or other.ips[0]])
        if not ports or len(self._cluster.ranks) % len(ports):
            reading.stop()
        if len(ports) != CARDS_OF_SERVER and not self._ports <= {ports}:
            reading.stop()


def _cards(ranks: Sequence[Rank]) -> tuple[int, ...]:
    return tuple(sorted(rank.card for rank in ranks))
