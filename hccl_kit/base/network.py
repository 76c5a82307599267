"""The addresses by which a host means itself."""

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
