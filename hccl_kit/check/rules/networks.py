"""HK3: the networks of the addresses: one family, subnets (segments) by the netmask, none that is reserved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from ipaddress import ip_address

from hccl_kit.base.message import Message
from hccl_kit.base.network import is_loopback
from hccl_kit.check.rule import ALL_KINDS, SERVER_KINDS, Rule
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, Related
from hccl_kit.table.ip import RESERVED, parse_address, parse_usable, reserved_range, split_addresses
from hccl_kit.table.model import Device, RankTable
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import Product

_FIX = Message("check.families.fix", "use one family on all servers")
_Segment = tuple[bytes, int]
"""The first address of a network, and the length of its prefix."""


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


def segments_not_planes(table: RankTable, product: Product) -> Iterator[Finding]:
    """The subnets of the addresses do not match the planes of the product.

    What:           checked with --netmask only. Port i of a server belongs to plane i mod P, and P is 4 on 910 and 1
                    elsewhere. The ports of one plane are in more than one segment, or two planes share one. Reported
                    once for a plane.
    Why it matters: ports of one plane reach each other through a switch; between segments they need a router. Of two
                    planes that share a segment, the traffic of one may take the port of the other.
    Example:        192.168.1.1 for device 0, and 192.168.2.1 for device 4 of a 910, with --netmask 255.255.255.0
    Fix:            give devices 0 and 4, 1 and 5, 2 and 6, 3 and 7 of all servers of 910 one segment each.
    HCCL:           accepts it; without a route between the segments, the job fails later.
    """
    if product.prefix is None:
        return
    members: dict[int, list[tuple[_Segment, Device]]] = {}
    for device in table.every:
        segment = _segment(device, product.prefix)
        if segment:
            members.setdefault(device.id % product.planes, []).append((segment, device))
    holder: dict[_Segment, int] = {}
    for plane, ports in sorted(members.items()):
        counts = Counter(segment for segment, _ in ports)
        usual = counts.most_common(1)[0][0]
        network = Message("HK319.network", "the network")
        if product.planes > 1:
            network = Message("HK319.plane", "plane {plane}", plane=plane)
        if len(counts) > 1:
            odd, device = next(port for port in ports if port[0] != usual)
            message = Message(
                "HK319.segments",
                "{address} is in {odd}; {network} has {count} segments, most ports are in {usual}",
                address=shown(device.ip),
                odd=_written(odd),
                network=network,
                count=len(counts),
                usual=_written(usual),
            )
            hint = Message("HK319.fix", "give the ports one segment, or make sure that a router connects them")
            yield Finding(message, hint, pointer=(*device.at, "device_ip"))
        other = holder.setdefault(usual, plane)
        if other != plane:
            device = next(device for segment, device in ports if segment == usual)
            message = Message(
                "HK319.shared",
                "{address} of plane {plane} is in {usual}, the segment of plane {other}",
                address=shown(device.ip),
                plane=plane,
                usual=_written(usual),
                other=other,
            )
            hint = Message(
                "HK319.shared.fix", "give each of the {planes} planes its own segment", planes=product.planes
            )
            yield Finding(message, hint, pointer=(*device.at, "device_ip"))


def _segment(device: Device, prefix: int) -> _Segment | None:
    """The segment of the first address of a device; None without one, or if it is shorter than the prefix."""
    address = parse_address(texts[0]) if (texts := split_addresses(device.ip)) else None
    if address is None:
        return None
    size = len(address[1])
    host_bits = size * 8 - prefix
    if host_bits < 0:
        return None
    return (int.from_bytes(address[1], "big") >> host_bits << host_bits).to_bytes(size, "big"), prefix


def _written(segment: _Segment) -> str:
    return f"{ip_address(segment[0])}/{segment[1]}"


def address_of_no_network(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A device has an address that is reserved for documentation or benchmarks.

    What:           an address of a device is in a range for documentation (RFC 5737, 3849, 9637) or for benchmarks (RFC
                    2544). `hccl-gen --simulate` writes such addresses. Reported once for a table. A table of one server
                    with a loopback id is left out: it says itself that it is for this server only (HK210).
    Why it matters: no card has such an address, so no rank of another server reaches it.
    Example:        "device_ip": "192.0.2.1"
    Fix:            generate the table on the servers, without --simulate; or --ignore HK322, if the network of the
                    cards really has these addresses.
    HCCL:           accepts it; the job fails later (R33).
    """
    if len(table.servers) == 1 and is_loopback(table.servers[0].id):
        return
    reserved = list(_reserved(table))
    if reserved:
        at, text, range_ = reserved[0]
        others = (
            Message("HK322.others", "; {count} addresses of the table are in such ranges", count=len(reserved))
            if len(reserved) > 1
            else ""
        )
        message = Message(
            "HK322.reserved",
            "address {address} is in {range}, a range that no network has{others}",
            address=shown(text),
            range=range_,
            others=others,
        )
        hint = Message("HK322.fix", "generate the table on the servers, without --simulate")
        yield Finding(message, hint, pointer=at)


def _reserved(table: RankTable) -> Iterator[tuple[Pointer, str, str]]:
    """Every address that is in such a range: its place, its text and the range."""
    key = "rank_ip" if table.version == "1.1" else "device_ip"
    devices: Iterable[Device] = table.every
    if table.has_plain_addresses:
        devices = [device for device, ip in zip(devices, table.ips, strict=True) if ip and ip.startswith(RESERVED)]
    for device in devices:
        for text in split_addresses(device.ip):
            if range_ := reserved_range(text):
                yield (*device.at, key), text, range_
    has_more = any(address.type != "EID" and reserved_range(address.text) for address in table.every_address)
    for device in table.every if has_more else ():
        for at, address in device.placed_addresses():
            if address.type != "EID" and (range_ := reserved_range(address.text)):
                yield (*at, "addr"), address.text, range_


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
    Rule(
        "HK319",
        "subnets-not-planes",
        segments_not_planes,
        severity="note",
        by_product={"910": "warning"},  # one plane elsewhere, and routers between its segments are usual
        kinds=SERVER_KINDS,
    ),
    Rule("HK322", "simulated-address", address_of_no_network, severity="warning", kinds=ALL_KINDS),
)
