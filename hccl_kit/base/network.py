"""Loopback addresses, and ports that the processes of a job derive without communication."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

LOOPBACK = "127.0.0.1"


def ip_of(text: str) -> IPv4Address | IPv6Address | None:
    """The IP address that a text is; None for a name."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def is_loopback(server_id: str) -> bool:
    """Whether `server_id` is a loopback address or localhost, which every host resolves to itself."""
    if not server_id.startswith(("127.", "localhost")) and ":" not in server_id:
        return False  # nearly every id of a table
    address = ip_of(server_id)
    return address.is_loopback if address else server_id == "localhost"


def derived_port(number: int) -> int:
    """The port for `number`, equal on every host.

    It is in 20000 to 31999, below 32768, where Linux starts to assign ports to outgoing connections.
    """
    return 20000 + number % 12000


def port_of_digest(digest: str) -> int:
    """The `derived_port` of the first 32 bits of a hexadecimal digest."""
    return derived_port(int(digest[:8], 16))
