"""How HCCL reads template 2: group by group, instance by instance, device by device.

The order of the lines is that of HCCL's checks (topoinfo_ranktableStandard.cc). A string that is missing or of another
type is EI0017, as in versions 1.x; a wrong count has no code.
"""

from __future__ import annotations

from typing import Any

from hccl_kit.table.bounds import LAB, MAX_NAME, MAX_SERVER_ID, NIC_LOCATION, bytes_of
from hccl_kit.table.finding import INVALID
from hccl_kit.table.hccl_parser.cluster import Cluster, Rank
from hccl_kit.table.hccl_parser.reading import Reading, size
from hccl_kit.table.ip import Address, usable
from hccl_kit.table.products import Product

_AVERAGES = (1, 2, 4, 8, 16)
"""The accepted average numbers of devices per server in the lab form."""
_MAX_CLOUD_CARD = 7
"""On every product; the lab form uses the limit of the product."""


def read_groups(reading: Reading, table: Any, product: Product) -> Cluster:
    """The ranks of a table of template 2."""
    is_lab = LAB in table
    if is_lab and reading.text(table, NIC_LOCATION) != "device":
        reading.stop()
    count = _count(reading, table, "group_count")
    groups = reading.non_empty(table, "group_list")
    if size(groups) != count:
        reading.stop()
    reader = _Reader(reading, product, is_lab=is_lab)
    for group in reading.items(groups):
        reader.read_group(group)
    return reader.cluster()


def _count(reading: Reading, holder: Any, key: str) -> int:
    """A positive integer."""
    return reading.unsigned(reading.text(holder, key)) or reading.stop()


class _Reader:
    """The values read so far; names and addresses are unique in the whole table."""

    def __init__(self, reading: Reading, product: Product, *, is_lab: bool) -> None:
        self._reading, self._product, self._is_lab = reading, product, is_lab
        self._groups, self._pods, self._addresses = set[str](), set[str](), set[str]()
        self._ranks = list[Rank]()
        self._servers = 0

    def cluster(self) -> Cluster:
        """The ranks; in the cloud form HCCL numbers them by server, then by device.

        A process finds its ranks by the name of its pod, so every pod needs a name.
        """
        if "" in self._pods:
            self._reading.stop(INVALID)
        if self._is_lab:
            return Cluster(tuple(self._ranks), self._servers)
        ranks = sorted(self._ranks, key=lambda rank: (rank.server.encode("utf-8", "surrogatepass"), rank.card))
        numbered = [rank._replace(number=number) for number, rank in enumerate(ranks)]
        return Cluster(tuple(numbered), len({rank.server for rank in ranks}))

    def read_group(self, group: Any) -> None:
        """One group: its counts are read before its instances and compared after them."""
        reading = self._reading
        self._name(group, "group_name", self._groups)
        declared = _count(reading, group, "instance_count")
        devices = self._lab_counts(group, declared) if self._is_lab else _count(reading, group, "device_count")
        instances = reading.items(reading.non_empty(group, "instance_list"))
        before = len(self._ranks)
        for instance in instances:
            self._read_instance(instance, is_alone=len(instances) == 1)
        if declared != len(instances) or devices != len(self._ranks) - before:
            reading.stop()

    def _lab_counts(self, group: Any, declared: int) -> int:
        devices = _count(self._reading, group, "device_num")
        servers = _count(self._reading, group, "server_num")
        if devices % servers or devices // servers not in _AVERAGES or declared != devices:
            self._reading.stop()
        self._servers += servers
        return devices

    def _read_instance(self, instance: Any, *, is_alone: bool) -> None:
        reading = self._reading
        server = reading.text(instance, "server_id")
        if not 1 <= bytes_of(server) <= MAX_SERVER_ID:
            reading.stop()
        devices = reading.non_empty(instance, "devices")
        rank = reading.text(instance, "rank_id") if self._is_lab else "0"
        if not self._is_lab:
            self._name(instance, "pod_name", self._pods)
        for index, device in enumerate(reading.items(devices)):
            card = reading.unsigned(reading.text(device, "device_id"))
            if card > (self._product.max_device_id if self._is_lab else _MAX_CLOUD_CARD):
                reading.stop()
            address = self._address(device) if self._is_lab or not is_alone else None
            if self._is_lab and index:  # one rank for several devices
                reading.stop(INVALID)
            self._ranks.append(Rank(reading.unsigned(rank, INVALID), server, card, ips=(address,)))

    def _address(self, device: Any) -> Address | None:
        text = self._reading.text(device, "device_ip")
        if not text:
            return None
        address = usable(self._reading.address(text)) or self._reading.stop(INVALID)
        self._reading.unique(text, self._addresses)
        return address

    def _name(self, holder: Any, key: str, pool: set[str]) -> None:
        name = self._reading.text(holder, key)
        if bytes_of(name) > MAX_NAME:
            self._reading.stop()
        self._reading.unique(name, pool)
