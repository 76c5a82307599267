"""Addresses as HCCL reads them in a table."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Address

HEX_DIGITS = "0123456789abcdefABCDEF"
EID_DIGITS = 32
"""Digits of an EID, an address of the unified bus of Atlas 950."""
PORT = "[0-9]{1,4}/[0-9]{1,4}|d2h"
"""A port of an address of version 2.0: "die/port" or "d2h"."""

_OCTETS = frozenset(map(str, range(256)))
_ZEROS = bytes(4)
UNSPECIFIED = ".".join(map(str, _ZEROS))
"""0.0.0.0, which HCCL treats as no address; it treats :: as an address."""

_RESERVED = {
    "192.0.2.": "192.0.2.0/24 (RFC 5737)",
    "198.51.100.": "198.51.100.0/24 (RFC 5737)",
    "203.0.113.": "203.0.113.0/24 (RFC 5737)",
    **dict.fromkeys(("198.18.", "198.19."), "198.18.0.0/15 (RFC 2544)"),
}
RESERVED = tuple(_RESERVED)
"""The first characters of IPv4 addresses that no network has, reserved for documentation or benchmarks."""

Address = tuple[int, bytes, str]
"""IP version (4 or 6), binary form and interface (the part after "%") of an address."""


def is_ipv4(text: str) -> bool:
    """Whether inet_pton reads the text as an IPv4 address."""
    octets = text.split(".")
    return len(octets) == 4 and _OCTETS.issuperset(octets)


def parse_address(text: str) -> Address | None:
    """The address as HCCL reads it (R12): as inet_pton, with "%interface" allowed, not trimmed."""
    address, percent, interface = text.partition("%")
    if percent and not (address and interface):
        return None
    if is_ipv4(address):
        return 4, bytes(map(int, address.split("."))), interface
    try:
        return 6, IPv6Address(address).packed, interface
    except ValueError:
        return None


def fits(kind: str, text: str) -> bool:
    """Whether `text` is a valid address of the type `kind` of version 2.0: EID, IPV4 or IPV6."""
    if kind == "EID":
        return len(text) == EID_DIGITS and not text.strip(HEX_DIGITS)
    if kind == "IPV4" and is_ipv4(text):
        return True
    return parse_address(text) is not None and (":" in text) == (kind == "IPV6")


def usable(address: Address | None) -> Address | None:
    """The address; None for 0.0.0.0."""
    return None if address is None or address[1] == _ZEROS else address


def parse_usable(text: str) -> Address | None:
    """The address as `parse_address` reads it; None for 0.0.0.0, which a device may not have."""
    return usable(parse_address(text))


def reserved_range(text: str) -> str | None:
    """The range of an address that no network has, reserved for documentation or benchmarks; None for any other text.

    Simulated cards have such addresses: RFC 5737, 3849 and 9637 are for documentation, RFC 2544 for benchmarks.
    """
    if ":" not in text and not text.startswith(RESERVED):
        return None  # nearly every address
    address = parse_address(text)
    if address is None:
        return None
    if address[0] == 4:
        return next((words for start, words in _RESERVED.items() if text.startswith(start)), None)
    if address[1].startswith(bytes.fromhex("20010db8")):
        return "2001:db8::/32 (RFC 3849)"
    return "3fff::/20 (RFC 9637)" if address[1].startswith(b"\x3f\xff") and address[1][2] < 0x10 else None


def split_addresses(text: str | None) -> list[str]:
    """The parts of a comma-separated list as HCCL splits it: a trailing comma adds nothing."""
    return text.removesuffix(",").split(",") if text else []


def prefix_length(netmask: str) -> int | None:
    """24 for `255.255.255.0` or `24`; None if `netmask` is not valid."""
    if netmask.isascii() and netmask.isdecimal():
        return int(netmask) if len(netmask) <= 3 and int(netmask) <= 128 else None
    try:
        return IPv4Network(f"0.0.0.0/{netmask}").prefixlen
    except ValueError:
        return None
