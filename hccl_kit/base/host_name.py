"""Which server ids can be passed to a program as the address of a host."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,252}")


def is_host(text: str) -> bool:
    """Whether `text` is an IP address or a host name: one word that no program mistakes for an option or a command."""
    if _NAME.fullmatch(text):
        return True
    address, percent, interface = text.partition("%")
    if not percent or _NAME.fullmatch(interface):
        from ipaddress import ip_address  # noqa: PLC0415 - 1 ms, which few tables need

        try:
            return ip_address(address).version == 6
        except ValueError:
            return False
    return False
