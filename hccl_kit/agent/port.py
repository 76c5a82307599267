"""The port of rank 0: the given one, or a free one."""

from __future__ import annotations

import random
import socket
from typing import TYPE_CHECKING

from hccl_kit.agent.texts import ENGLISH, phrase

if TYPE_CHECKING:
    from hccl_kit.agent.texts import Texts

FIRST, LAST = 20000, 31999
"""The ports that `base.network.derived_port` returns."""
TRIES = 20


class PortError(Exception):
    """No such port can be bound."""


def free_port(given: int | None, texts: Texts = ENGLISH) -> int:
    """A port that can be bound on this host: `given`, or a random one of the range. Raises PortError, in a language."""
    for port in [given] if given is not None else random.sample(range(FIRST, LAST + 1), TRIES):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError:
                continue
        return port
    if given is not None:
        raise PortError(phrase(texts, "agent.port-in-use", port=given))
    raise PortError(phrase(texts, "agent.no-port", number=TRIES, first=FIRST, last=LAST))
