"""Free ports for jobs of tests: below the ephemeral range, so that no connection takes one before the job listens."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from itertools import chain

LOWEST, HIGHEST = 10_000, 15_999
"""Below the ports of HCCL (16666), of Slurm and of our scripts (20000 to 31999)."""

_START = LOWEST + 61 * os.getpid() % (HIGHEST - LOWEST)  # test runs beside this one start elsewhere
_left = chain(range(_START, HIGHEST + 1), range(LOWEST, _START))


def free_port() -> int:
    """A port on which no process listens; never twice the same. Raises RuntimeError if there is none left."""
    for port in _left:
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("", port))
            return port
    raise RuntimeError(f"no free ports from {LOWEST} to {HIGHEST}")
