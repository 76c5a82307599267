"""How HCCL reads template 2: group by group, instance by instance, device by device.

The order of the lines is that of HCCL's checks (topoinfo_ranktableStandard.cc). A string that is missing or of another
type is EI0017, as in versions 1.x; a wrong count has no code.
"""

from __future__ import annotations

from typing import Any

from hccl_kit.table.bounds import LAB, MAX_NAME, MAX_SERVER_ID, NIC_LOCATION, bytes_of
from hccl_kit.table.hccl_parser.cluster import Cluster, Rank
from hccl_kit.table.hccl_parser.reading import INVALID, Reading, size
from hccl_kit.table.ip import Address, usable
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import Product

_AVERAGES = (1, 2, 4, 8, 16)
"""The accepted average numbers of devices per server in the lab form."""
_MAX_CLOUD_CARD = 7
"""On every product; the lab form uses the limit of the product."""
_GROUPS = "group_list"


def read_groups(reading: Reading, table: Any, product: Product) -> Cluster:
    """The ranks of a table of template 2."""
    is_lab = LAB in table
    if is_lab and reading.text(table, NIC_LOCATION, ()) != "device":
        reading.stop((NIC_LOCATION,))
    count = _count(reading, table, "group_count", ())
    groups = reading.non_empty(table, _GROUPS, ())
    if size(groups) != count:
        reading.stop(("group_count",))
    reader = _Reader(reading, product, is_lab=is_lab)
    for index, group in enumerate(reading.items(groups, (_GROUPS,))):
        reader.read_group(group, (_GROUPS, index))
    reader.check_pods()
    return reader.cluster()


def _count(reading: Reading, holder: Any, key: str, at: Pointer) -> int:
    """A positive integer."""
    return reading.unsigned(reading.text(holder, key, at), (*at, key)) or reading.stop((*at, key))


class _Reader:
    """The values read so far; names and addresses are unique in the whole table."""

    def __init__(self, reading: Reading, product: Product, *, is_lab: bool) -> None:
        self._reading, self._product, self._is_lab = reading, product, is_lab
        self._groups, self._pods, self._addresses = set[str](), set[str](), set[str]()
        self._ranks = list[Rank]()
        self._servers = 0

    def cluster(self) -> Cluster:
        """The ranks; in the cloud form HCCL numbers them by server, then by device."""
        if self._is_lab:
            return Cluster(tuple(self._ranks), self._servers)
        ranks = sorted(self._ranks, key=lambda rank: (rank.server.encode("utf-8", "surrogatepass"), rank.card))
        numbered = [rank._replace(number=number) for number, rank in enumerate(ranks)]
        return Cluster(tuple(numbered), len({rank.server for rank in ranks}))

    def check_pods(self) -> None:
        """A process finds its ranks by the name of its pod, so every pod needs a name."""
        if "" in self._pods:
            self._reading.stop((_GROUPS,), INVALID)

    def read_group(self, group: Any, at: Pointer) -> None:
        """One group: its counts are read before its instances and compared after them."""
        reading = self._reading
        self._name(group, "group_name", self._groups, at)
        declared = _count(reading, group, "instance_count", at)
        devices = self._lab_counts(group, declared, at) if self._is_lab else _count(reading, group, "device_count", at)
        instances = reading.items(reading.non_empty(group, "instance_list", at), (*at, "instance_list"))
        before = len(self._ranks)
        for index, instance in enumerate(instances):
            self._read_instance(instance, (*at, "instance_list", index), is_alone=len(instances) == 1)
        if declared != len(instances) or devices != len(self._ranks) - before:
            reading.stop(at)

    def _lab_counts(self, group: Any, declared: int, at: Pointer) -> int:
        devices = _count(self._reading, group, "device_num", at)
        servers = _count(self._reading, group, "server_num", at)
        if devices % servers or devices // servers not in _AVERAGES:
            self._reading.stop((*at, "server_num"))
        if declared != devices:
            self._reading.stop((*at, "instance_count"))
        self._servers += servers
        return devices

    def _read_instance(self, instance: Any, at: Pointer, *, is_alone: bool) -> None:
        reading = self._reading
        server = reading.text(instance, "server_id", at)
        if not 1 <= bytes_of(server) <= MAX_SERVER_ID:
            reading.stop((*at, "server_id"))
        devices = reading.non_empty(instance, "devices", at)
        rank = reading.text(instance, "rank_id", at) if self._is_lab else "0"
        if not self._is_lab:
            self._name(instance, "pod_name", self._pods, at)
        for index, device in enumerate(reading.items(devices, (*at, "devices"))):
            place = (*at, "devices", index)
            card = reading.unsigned(reading.text(device, "device_id", place), (*place, "device_id"))
            if card > (self._product.max_device_id if self._is_lab else _MAX_CLOUD_CARD):
                reading.stop((*place, "device_id"))
            address = self._address(device, place) if self._is_lab or not is_alone else None
            if self._is_lab and index:  # one rank for several devices
                reading.stop((*at, "devices"), INVALID)
            number = reading.unsigned(rank, (*at, "rank_id"), INVALID)
            self._ranks.append(Rank(number, server, card, place, ips=(address,)))

    def _address(self, device: Any, at: Pointer) -> Address | None:
        text = self._reading.text(device, "device_ip", at)
        if not text:
            return None
        at = (*at, "device_ip")
        address = usable(self._reading.address(text, at)) or self._reading.stop(at, INVALID)
        self._reading.unique(text, self._addresses, at)
        return address

    def _name(self, holder: Any, key: str, pool: set[str], at: Pointer) -> None:
        name = self._reading.text(holder, key, at)
        if bytes_of(name) > MAX_NAME:
            self._reading.stop((*at, key))
        self._reading.unique(name, pool, (*at, key))
