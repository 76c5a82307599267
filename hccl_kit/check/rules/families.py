"""HK309 and HK310: IPv4 and IPv6 addresses in one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hccl_kit.base.message import Message
from hccl_kit.check.rule import Rule
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, Related
from hccl_kit.table.ip import parse_usable
from hccl_kit.table.model import RankTable
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import Product

_FIX = Message("check.families.fix", "use one family on all servers")


def device_ip_families(table: RankTable, _product: Product) -> Iterator[Finding]:
    """Devices of several servers have addresses of two families.

    What:           some `device_ip` are IPv4, others IPv6; in version 1.1, `rank_ip`, which stands for `node_addr` if
                    that is empty or absent. Reported once for a table.
    Why it matters: the two cannot reach each other.
    Example:        one server was set up with IPv6, the other with IPv4.
    Fix:            use one family on all servers.
    HCCL:           EI0001, RankIpFamily (R21).
    """
    families = set() if table.has_plain_addresses else {address[0] for _, _, address in table.parsed_ips if address}
    if len(table.servers) == 1 or (len(families) < 2 and table.version != "1.1"):
        return
    named = [((*d.at, "device_ip"), d.ip.split(",")[0]) for d in table.addressed if d.ip]
    if table.version == "1.1":
        nodes = [server for server in table.servers if not all(rank.ip for rank in server.devices)]
        named += [((*node.at, "node_addr"), node.id) for node in nodes]
        if next(host_ip_families(table, _product), None):
            return  # that is the mistake, and the ranks follow their nodes
    for at, text, family, usual in _mixed(named):
        key = "device_ip" if table.version != "1.1" else "rank_ip"
        message = Message(
            "HK309.families",
            '"{key}" {address} is {family}, and most of the table is {usual}',
            key=key,
            address=shown(text),
            family=family,
            usual=usual.message,
        )
        yield Finding(message, _FIX, pointer=at, related=(usual,))


def host_ip_families(table: RankTable, _product: Product) -> Iterator[Finding]:
    """Several servers have host addresses of two families.

    What:           some `host_ip` are IPv4, others IPv6; in version 1.1, `node_addr`. Reported once for a table.
    Why it matters: the two cannot reach each other.
    Example:        "192.168.0.1" on one server and "fd00::2" on the other.
    Fix:            use one family on all servers.
    HCCL:           EI0014, "Device Id of server Id X" with the number of the family (R21).
    """
    key = "node_addr" if table.version == "1.1" else "host_ip"
    hosts = [(s, s.id if table.version == "1.1" else s.extra.get("host_ip")) for s in table.servers]
    named = [((*server.at, key), text) for server, text in hosts if isinstance(text, str)]
    for at, text, family, usual in _mixed(named) if len(hosts) > 1 else ():
        message = Message(
            "HK310.families",
            '"{key}" {address} is {family}, and most of the table is {usual}',
            key=key,
            address=shown(text),
            family=family,
            usual=usual.message,
        )
        yield Finding(message, _FIX, pointer=at, related=(usual,))


def _mixed(named: list[tuple[Pointer, str]]) -> Iterator[tuple[Pointer, str, str, Related]]:
    """The first address of another family than most: its place, its text, its family, and the first of the usual."""
    known = [(at, text, f"IPv{address[0]}") for at, text in named if (address := parse_usable(text))]
    families = Counter(family for _, _, family in known)
    if len(families) > 1:
        usual = families.most_common(1)[0][0]
        at, text, family = next(address for address in known if address[2] != usual)
        usual_at = next(at for at, _, other in known if other == usual)
        yield at, text, family, Related(usual_at, usual)


RULES = (
    Rule(
        "HK309",
        "mixed-device-ip-families",
        device_ip_families,
        hccl_error="EI0001",
        variables=("RankIpFamily",),
        kinds=("1.0", "1.1", "1.2", "template2"),
    ),
    Rule(
        "HK310",
        "mixed-host-ip-families",
        host_ip_families,
        hccl_error="EI0014",
        variables=("Device Id of server Id X",),
        kinds=("1.0", "1.1", "1.2"),
    ),
)
