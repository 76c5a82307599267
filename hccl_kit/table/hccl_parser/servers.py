"""How HCCL reads versions 1.0 and 1.2: server by server, device by device, then the super pods of Atlas A3.

The order of the lines is that of HCCL's checks (topoinfo_ranktableConcise.cc).
"""

from typing import Any, NamedTuple

from hccl_kit.table.bounds import MAX_NAME, MAX_PORT, MAX_SERVER_ID, NO_SDID, bytes_of
from hccl_kit.table.finding import INVALID
from hccl_kit.table.hccl_parser.cluster import Cluster, Rank
from hccl_kit.table.hccl_parser.reading import Reading, size
from hccl_kit.table.ip import Address, split_addresses, usable
from hccl_kit.table.products import Product

_PODS = "super_pod_list"
_SUPER_POD_VERSION = "1.2"


class _Context(NamedTuple):
    """The context of a device: its server, the table and product, and the addresses read before."""

    server: str
    host: Address | None
    is_one_of_several: bool
    has_sdids: bool
    product: Product
    addresses: set[str]


def read_servers(reading: Reading, table: Any, product: Product) -> Cluster:
    """The ranks of a table of version 1.0 or 1.2."""
    servers = reading.non_empty(table, "server_list")
    declared = reading.optional(table, "server_count")
    if declared is not None and reading.unsigned(declared) != size(servers):
        reading.stop(INVALID)
    names, addresses, ranks = set[str](), set[str](), list[Rank]()
    has_sdids = table["version"] == _SUPER_POD_VERSION
    for server in reading.items(servers):
        name = reading.text(server, "server_id")
        if not 1 <= bytes_of(name) <= MAX_SERVER_ID:
            reading.stop()
        reading.unique(name, names)
        host = reading.optional(server, "host_ip")
        host_address = None if host is None else usable(reading.address(host))
        context = _Context(name, host_address, size(servers) > 1, has_sdids, product, addresses)
        read = [_device(reading, device, context) for device in reading.items(reading.non_empty(server, "device"))]
        ranks += read
        if any(len(rank.ips) != len(ranks[0].ips) for rank in read):
            reading.stop()
    pods = _read_pods(reading, table, ranks, names) if product.has_super_pods and has_sdids else 0
    return Cluster(tuple(ranks), size(servers), pods)


def _device(reading: Reading, device: Any, context: _Context) -> Rank:
    rank = reading.text(device, "rank_id")
    card = reading.unsigned(reading.text(device, "device_id"))
    if card > context.product.max_device_id:
        reading.stop()
    _port(reading, device, "host_port")
    ips = _addresses(reading, device, context)
    if _port(reading, device, "device_port"):
        _port(reading, device, "device_vnic_port")
    position = reading.optional(device, "net_position")
    reading.optional(device, "net_protocol")
    number = reading.unsigned(rank, INVALID)
    text = reading.optional(device, "super_device_id") if context.has_sdids else None
    sdid = None if text is None else reading.unsigned(text, INVALID)
    return Rank(number, context.server, card, context.host, ips, position == "host", sdid)


def _port(reading: Reading, device: Any, key: str) -> bool:
    """Whether the port is present; stops if it is not 1 to 65535."""
    text = reading.optional(device, key)
    if text is not None and not 1 <= reading.unsigned(text) <= MAX_PORT:
        reading.stop()
    return text is not None


def _addresses(reading: Reading, device: Any, context: _Context) -> tuple[Address | None, ...]:
    """R12 and R13. On Atlas A3 the address is optional here, since super pods are read later."""
    text = reading.tolerated(device, "device_ip")
    if context.is_one_of_several:
        is_wrong = (text is None and context.host is None) or (not context.product.host_ip_suffices and not text)
        if is_wrong and not context.product.has_super_pods:
            reading.stop(INVALID)
    elif text is None and context.host is None and "device_ip" in device:
        reading.stop()
    addresses: list[Address | None] = []
    for part in split_addresses(text):
        addresses.append(usable(reading.address(part)) or reading.stop(INVALID))
        reading.unique(part, context.addresses)
    return tuple(addresses) or (None,)


def _read_pods(reading: Reading, table: Any, ranks: list[Rank], names: set[str]) -> int:
    """Read the super pods of Atlas A3 (R30, R31) and return their number."""
    if _PODS not in table:
        return 0
    pods = reading.non_empty(table, _PODS)
    taken: set[str] = set()
    pod_of: dict[str, str] = {}
    for pod in reading.items(pods, INVALID):
        name = reading.optional(pod, "super_pod_id")
        if name is None:
            reading.stop(INVALID)
        if not name:  # reported; its servers are then in no super pod
            reading.report(INVALID)
            continue
        if bytes_of(name) > MAX_NAME:
            reading.stop()
        reading.unique(name, taken)
        for server in reading.items(reading.non_empty(pod, "server_list"), INVALID):
            server_id = reading.optional(server, "server_id")
            if server_id is None or server_id not in names:
                reading.stop(INVALID)
            pod_of[server_id] = name  # of two, the last one counts
    _check_pods(reading, ranks, pod_of)
    return len(pods)


def _check_pods(reading: Reading, ranks: list[Rank], pod_of: dict[str, str]) -> None:
    """Every rank is in a super pod and has an SDID that is unique in it."""
    seen: set[tuple[str, int]] = set()
    for rank in ranks:
        pod = pod_of.get(rank.server)
        if pod is None or rank.sdid in (None, NO_SDID) or (pod, rank.sdid) in seen:
            reading.stop()
        seen.add((pod, rank.sdid or 0))
