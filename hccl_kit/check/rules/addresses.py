"""HK3: the addresses of the devices and hosts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from hccl_kit.base.message import Message
from hccl_kit.check.rule import DUPLICATE, SERVER_KINDS, Rule, first_defined, repeated
from hccl_kit.check.rules.keys import meant
from hccl_kit.check.rules.nics import has_host, ports_differ, some_ports
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Edit, Finding
from hccl_kit.table.ip import Address, parse_address, parse_usable, split_addresses
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import ANY_PRODUCT, Product

_ACCEPTED = Message("check.address", "an IPv4 or IPv6 address without spaces around it is expected")


def device_ip_invalid(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A `device_ip` is not a valid IP address.

    What:           `device_ip` holds something that is not an IPv4 or IPv6 address (several are separated by commas),
                    or 0.0.0.0, which stands for no address.
    Why it matters: it is the address of the RoCE port of the NPU, by which the ranks of other servers reach it.
    Example:        "192.1.*.6" copied from a manual; " 192.168.1.1" with a space; "-1" from a tool that failed.
    Fix:            write what `hccn_tool -i N -ip -g` prints for device N.
    HCCL:           EI0014, IP "a valid IP address" (R12).
    """
    if table.has_plain_addresses:
        return
    first: dict[Pointer, tuple[Device, str]] = {}
    for device, text, address in table.parsed_ips:
        if address is None:
            first.setdefault(device.at, (device, text))
    for device, text in first.values():
        message = Message(
            "HK301.invalid", '"device_ip" holds {address}; {accepted}', address=shown(text), accepted=_ACCEPTED
        )
        if parse_address(text):
            message = Message(
                "HK301.no-address",
                '"device_ip" holds {address}, which stands for no address; {accepted}',
                address=shown(text),
                accepted=_ACCEPTED,
            )
        at = (*device.at, "device_ip")
        yield Finding(message, _advice(text, device), pointer=at, fix=_without_spaces(at, device.ip or ""))


def device_ip_twice(table: RankTable, _product: Product) -> Iterator[Finding]:
    """Two devices have the same address.

    What:           an address in `device_ip` that an earlier device has, character by character.
    Why it matters: the ranks of other servers would reach the wrong NPU.
    Example:        the block of one device copied for the next.
    Fix:            write what `hccn_tool -i N -ip -g` prints for device N.
    HCCL:           EI0014, `"IP" is repeate` (R12).
    """
    if table.has_plain_addresses:
        return
    for text, device, earlier in repeated((text, device) for device, text, address in table.parsed_ips if address):
        message = Message(
            "HK302.taken",
            "address {address} is already taken by device {other}",
            address=shown(text),
            other=earlier.id,
        )
        yield _pointing_back(device, message, earlier.at)


def device_ip_respelled(table: RankTable, _product: Product) -> Iterator[Finding]:
    """Two devices have the same IPv6 address in two spellings.

    What:           an address in `device_ip` that an earlier device has in another spelling.
    Why it matters: HCCL compares characters, so it takes the table, and two ranks share one address.
    Example:        "fd00::1" and "fd00:0::1"
    Fix:            write what `hccn_tool -i N -ip -inet6 -g` prints for device N.
    HCCL:           accepts it; the job fails later.
    """
    if table.has_plain_addresses:
        return
    first: dict[Address, tuple[Pointer, str]] = {}
    spellings: set[str] = set()
    for device, text, address in table.parsed_ips:
        if address is None or address[0] == 4 or text in spellings:  # an IPv4 address has one spelling
            continue
        spellings.add(text)
        pointer, spelling = first.setdefault(address, (device.at, text))
        if spelling != text:
            message = Message(
                "HK303.spelling",
                "address {address} is another spelling of {other}",
                address=shown(text),
                other=shown(spelling),
            )
            yield _pointing_back(device, message, pointer)


def device_ip_count(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A device has more or fewer addresses than the others.

    What:           the number of addresses in `device_ip` differs from that of most devices. No address counts as one.
    Why it matters: HCCL pairs the ports of the devices.
    Example:        "192.168.1.1,192.168.2.1" on one device only.
    Fix:            give every device the same number of addresses.
    HCCL:           no code; the log says "size[1] neq first device size[2]" (R12).
    """
    if not any(ip and "," in ip for ip in table.ips):
        return
    wrong = {device.at for device, _, address in table.parsed_ips if address is None}  # they have their own finding
    counts = [(max(1, len(split_addresses(device.ip))), device) for device in table.every if device.at not in wrong]
    if not counts:
        return
    usual = Counter([count for count, _ in counts]).most_common(1)[0][0]
    for count, device in counts:
        if count != usual:
            message = Message(
                "HK304.count",
                '"device_ip" holds {addresses}, on most devices {usual}',
                addresses=_addresses_in_words(count),
                usual=_addresses_in_words(usual),
            )
            yield Finding(
                message,
                Message("HK304.several.fix", "write {count} addresses, separated by commas", count=usual)
                if usual > 1
                else Message("HK304.fix", "write one address"),
                pointer=(*device.at, "device_ip"),
            )


def device_ip_absent(table: RankTable, product: Product) -> Iterator[Finding]:
    """Several servers, and a device has no address.

    What:           `device_ip` is absent, and so is the server's `host_ip`, or it is 0.0.0.0; on A2, which requires the
                    address of the card, a `host_ip` does not help. Reported once for a server.
    Why it matters: between servers the ranks connect over RoCE; without an address a device cannot be reached.
    Example:        the tables of two servers, made for one server each, joined.
    Fix:            write what `hccn_tool -i N -ip -g` prints for device N.
    HCCL:           EI0014, device_ip "a valid IP address"; the parser of A3 accepts it (R13).
    """
    if len(table.servers) == 1 or None not in table.ips:
        return
    for server in table.servers:
        without = [device for device in server.devices if device.ip is None]
        if without and not (product.host_ip_suffices and has_host(server)):
            message = Message(
                "HK305.absent",
                '{devices} have no "device_ip", which a job of several servers needs',
                devices=some_devices(without, server),
            )
            hint, fix = meant("device_ip", without)
            yield Finding(message, hint or write_address(without[0]), pointer=without[0].at, fix=fix)


def device_ip_empty(table: RankTable, product: Product) -> Iterator[Finding]:
    """Several servers, and the address of a device is empty.

    What:           `device_ip` is "". Reported once for a server.
    Why it matters: between servers the ranks connect over RoCE; without an address a device cannot be reached.
    Example:        "device_ip": "", which is fine on one server.
    Fix:            write what `hccn_tool -i N -ip -g` prints for device N.
    HCCL:           EI0014 on A2; the parser of 910, 300I Duo and A3 accepts it, and the job fails later (R13). HK405
                    checks the ports of servers of eight cards.
    """
    if len(table.servers) == 1 or "" not in table.ips or _ports_are_checked(table, product):
        return
    for server in table.servers:
        without = [device for device in server.devices if device.ip == ""]
        if without:
            message = Message(
                "HK306.empty",
                '{devices} have an empty "device_ip"; a job of several servers needs addresses',
                devices=some_devices(without, server),
            )
            yield Finding(message, write_address(without[0]), pointer=(*without[0].at, "device_ip"))


def _ports_are_checked(table: RankTable, product: Product) -> bool:
    """Whether HK405 covers the ports: on 910, where they form planes, all of eight cards; else what HCCL refuses."""
    return (product.planes > 1 and some_ports(table, product)) or any(ports_differ(table, product))


def host_ip_invalid(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A `host_ip` is not a valid IP address.

    What:           `host_ip` is there, but is not an IPv4 or IPv6 address.
    Why it matters: the key may be absent, but HCCL reads it if it is there, even if it is empty.
    Example:        "host_ip": ""
    Fix:            write the address of the host, or remove the key.
    HCCL:           EI0014, IP "a valid IP address" (R16).
    """
    for server in table.servers:
        text = server.extra.get("host_ip")
        if isinstance(text, str) and parse_address(text) is None:
            message = Message(
                "HK307.invalid", '"host_ip" is {address}; {accepted}', address=shown(text), accepted=_ACCEPTED
            )
            at = (*server.at, "host_ip")
            hint = Message("HK307.fix", "write the address of the host, or remove the key")
            fix = (Edit(at, json.dumps(text.strip())),) if parse_address(text.strip()) else ()
            yield Finding(message, hint, pointer=at, fix=fix)


def some_devices(devices: Sequence[Device], server: Server) -> Message:
    """How many of the devices of a server these are."""
    return Message(
        "check.devices",
        "{count} of the {devices} devices of server {server}",
        count=len(devices),
        devices=len(server.devices),
        server=shown(server.id),
    )


def _addresses_in_words(count: int) -> Message:
    if count == 1:
        return Message("check.one-address", "one address")
    return Message("check.addresses", "{count} addresses", count=count)


def write_address(device: Device) -> Message:
    """The advice for a device whose address is wrong or missing."""
    return Message(
        "check.device-ip.fix", "write what `hccn_tool -i {device} -ip -g` prints on that server", device=device.id
    )


def _advice(wrong: str, device: Device) -> Message:
    if parse_usable(wrong.strip()):
        return Message("HK301.spaces.fix", "remove the spaces, HCCL does not")
    advice = write_address(device)
    return (
        Message("HK301.sample.fix", 'replace the "*" of the sample: {advice}', advice=advice)
        if "*" in wrong
        else advice
    )


def _without_spaces(at: Pointer, written: str) -> tuple[Edit, ...]:
    """The edit that removes the spaces around the addresses, if each is valid then."""
    parts = [part.strip() for part in written.split(",")]
    is_fixed = all(parse_usable(part) for part in parts)
    return (Edit(at, json.dumps(",".join(parts))),) if is_fixed else ()


def _pointing_back(device: Device, message: Message, earlier: Pointer) -> Finding:
    at, related = (*device.at, "device_ip"), first_defined((*earlier, "device_ip"))
    return Finding(message, write_address(device), pointer=at, related=related)


RULES = (
    Rule("HK301", "invalid-device-ip", device_ip_invalid, hccl_error="EI0014", variables=("IP",), kinds=SERVER_KINDS),
    Rule("HK302", "duplicate-device-ip", device_ip_twice, hccl_error="EI0014", variables=DUPLICATE, kinds=SERVER_KINDS),
    Rule("HK303", "respelled-device-ip", device_ip_respelled, kinds=SERVER_KINDS),
    Rule("HK304", "device-ip-count", device_ip_count),
    Rule(
        "HK305",
        "missing-device-ip",
        device_ip_absent,
        hccl_error="EI0014",
        by_product={"a3": "warning"},  # its parser requires none (R13)
        variables=("device_ip",),
    ),
    Rule(
        "HK306",
        "empty-device-ip",
        device_ip_empty,
        hccl_error="EI0014",
        # Only the parser of A2 checks it (R13).
        by_product={"910": "warning", "a3": "warning", "300i-duo": "warning", ANY_PRODUCT: "warning"},
        variables=("device_ip",),
    ),
    Rule("HK307", "invalid-host-ip", host_ip_invalid, hccl_error="EI0014", variables=("IP",)),
)
