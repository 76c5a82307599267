"""Addresses as HCCL reads them in a table."""

from __future__ import annotations

import re
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton

EID_DIGITS = 32
HEX = "[0-9a-fA-F]+"
"""An EID, an address of the unified bus of Atlas 950, is 32 of these."""
PORT = "[0-9]{1,4}/[0-9]{1,4}|d2h"
"""A port of an address of version 2.0: "die/port" or "d2h"."""

_ZEROS = bytes(4)
UNSPECIFIED = inet_ntop(AF_INET, _ZEROS)
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
"""Family, binary form and interface (the part after "%") of an address."""


def parse_address(text: str) -> Address | None:
    """The address as HCCL reads it (R12): inet_pton, IPv6 if it has two colons, "%interface" allowed, not trimmed."""
    address, percent, interface = text.partition("%")
    if percent and not (address and interface):
        return None
    family = AF_INET6 if address.count(":") >= 2 else AF_INET
    try:
        return family, inet_pton(family, address), interface
    except (OSError, ValueError):
        return None


def fits(kind: str, text: str) -> bool:
    """Whether `text` is a valid address of the type `kind` of version 2.0: EID, IPV4 or IPV6."""
    if kind == "EID":
        return len(text) == EID_DIGITS and re.fullmatch(HEX, text) is not None
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
    if address[0] == AF_INET:
        return next((words for start, words in _RESERVED.items() if text.startswith(start)), None)
    if address[1].startswith(bytes.fromhex("20010db8")):
        return "2001:db8::/32 (RFC 3849)"
    return "3fff::/20 (RFC 9637)" if address[1].startswith(b"\x3f\xff") and address[1][2] < 0x10 else None


def split_addresses(text: str | None) -> list[str]:
    """The parts of a comma-separated list as HCCL splits it: a trailing comma adds nothing."""
    return text.removesuffix(",").split(",") if text else []
