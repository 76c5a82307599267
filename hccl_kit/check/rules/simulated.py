"""HK3: addresses of cards that cannot be reached, as those of a table that was simulated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hccl_kit.base.message import Message
from hccl_kit.base.network import is_loopback
from hccl_kit.check.rule import ALL_KINDS, Rule
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding
from hccl_kit.table.ip import RESERVED, reserved_range, split_addresses
from hccl_kit.table.model import Device, RankTable
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import Product


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
    for device in table.every if table.version == "2.0" else ():
        for place, level in enumerate(device.levels):
            for number, address in enumerate(level.addresses):
                if address.type != "EID" and (range_ := reserved_range(address.text)):
                    at = (*device.at, "level_list", place, "rank_addr_list", number, "addr")
                    yield at, address.text, range_


RULES = (Rule("HK322", "simulated-address", address_of_no_network, severity="warning", kinds=ALL_KINDS),)
