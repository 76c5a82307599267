"""HK3: the subnets (segments) of the RoCE ports, if the user gives their netmask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_address
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.check.rule import SERVER_KINDS, Rule
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding
from hccl_kit.table.ip import parse_address, split_addresses
from hccl_kit.table.model import Device, RankTable
from hccl_kit.table.products import Product


class _Segment(NamedTuple):
    """A network: the first bits of its addresses; all bits of one are `width`."""

    bits: int
    prefix: int
    width: int

    def __str__(self) -> str:
        first = (self.bits << self.width - self.prefix).to_bytes(self.width // 8, "big")
        return f"{ip_address(first)}/{self.prefix}"


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
                odd=odd,
                network=network,
                count=len(counts),
                usual=usual,
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
                usual=usual,
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
    width = len(address[1]) * 8
    return _Segment(int.from_bytes(address[1], "big") >> width - prefix, prefix, width) if prefix <= width else None


RULES = (
    Rule(
        "HK319",
        "subnets-not-planes",
        segments_not_planes,
        severity="note",
        by_product={"910": "warning"},  # one plane elsewhere, and routers between its segments are usual
        kinds=SERVER_KINDS,
    ),
)
