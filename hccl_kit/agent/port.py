"""The port of rank 0: the given one, or a free one."""

from __future__ import annotations

import random
import socket

TRIES = 20


class PortError(Exception):
    """No such port can be bound."""


def free_port(given: int | None, ports: tuple[int, int]) -> int:
    """A port that can be bound on this host: `given`, or a random one of the range. Raises PortError."""
    first, last = ports
    for port in [given] if given is not None else random.sample(range(first, last + 1), TRIES):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError:
                continue
        return port
    what = f"port {given}" if given is not None else f"{TRIES} random ports of {first} to {last}"
    raise PortError(what + " cannot be bound on this host (in use, or below 1024 without privileges)")
