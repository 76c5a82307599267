"""The addresses by which a host means itself."""

from __future__ import annotations

from ipaddress import ip_address

LOOPBACK = "127.0.0.1"


def is_loopback(server_id: str) -> bool:
    """Whether every host means itself by `server_id`: a loopback address, or the name localhost."""
    try:
        return server_id == "localhost" or ip_address(server_id).is_loopback
    except ValueError:
        return False
