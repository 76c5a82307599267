"""Loopback addresses, and ports that the processes of a job derive without communication."""

from __future__ import annotations

LOOPBACK = "127.0.0.1"


def is_loopback(server_id: str) -> bool:
    """Whether every host means itself by `server_id`: a loopback address, or the name localhost."""
    if not server_id.startswith(("127.", "localhost")) and ":" not in server_id:
        return False  # nearly every id of a table
    from ipaddress import ip_address  # noqa: PLC0415 - 1 ms, which few tables need

    try:
        return server_id == "localhost" or ip_address(server_id).is_loopback
    except ValueError:
        return False


def derived_port(number: int) -> int:
    """A port that everyone who knows `number` derives.

    20000 to 31999 lies below 32768, from where on Linux assigns ports to outgoing connections.
    """
    return 20000 + number % 12000


def port_of_digest(digest: str) -> int:
    """The `derived_port` of the first 32 bits of a hexadecimal digest."""
    return derived_port(int(digest[:8], 16))
