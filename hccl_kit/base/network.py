"""Loopback addresses, and the ports of rank 0."""

from __future__ import annotations

LOOPBACK = "127.0.0.1"
FIRST_PORT, PORTS = 20000, 12000
"""The first port for rank 0, and how many there are: below 32768, where Linux starts to assign ports to clients."""


def port_for(number: int) -> int:
    """The port of rank 0 that all ranks derive from a number they share."""
    return FIRST_PORT + number % PORTS


def is_loopback(server_id: str) -> bool:
    """Whether every host means itself by `server_id`: a loopback address, or the name localhost."""
    if not server_id.startswith(("127.", "localhost")) and ":" not in server_id:
        return False  # nearly every id of a table
    from ipaddress import ip_address  # noqa: PLC0415 - 1 ms, which few tables need

    try:
        return server_id == "localhost" or ip_address(server_id).is_loopback
    except ValueError:
        return False
