"""A free port of this host."""

from __future__ import annotations

import socket


def free_port(address: str = "") -> int:
    """A port that is free at this address of this host now."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port
