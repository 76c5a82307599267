"""Addresses as HCCL reads them in a table."""

from __future__ import annotations

import _socket
import re

AF_INET, AF_INET6 = _socket.AF_INET, _socket.AF_INET6
inet_ntop, inet_pton = _socket.inet_ntop, _socket.inet_pton
"""Those of `socket`, which takes 2 ms to load; these names are the part of it that is written in C."""

EID_DIGITS = 32
HEX = "[0-9a-fA-F]+"
"""An EID, an address of the unified bus of Atlas 950, is 32 of these."""
PORT = "[0-9]{1,4}/[0-9]{1,4}|d2h"
"""A port of an address of version 2.0: "die/port" or "d2h"."""

UNSPECIFIED = inet_ntop(AF_INET, bytes(4))
"""0.0.0.0, which HCCL treats as no address; it treats :: as an address."""

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
    return None if address is None or address[:2] == (AF_INET, bytes(4)) else address


def parse_usable(text: str) -> Address | None:
    """The address as `parse_address` reads it; None for 0.0.0.0, which a device may not have."""
    return usable(parse_address(text))


def split_addresses(text: str | None) -> list[str]:
    """The parts of a comma-separated list as HCCL splits it: a trailing comma adds nothing."""
    if not text:
        return []
    parts = text.split(",")
    return parts[:-1] if parts[-1] == "" else parts
