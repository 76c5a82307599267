"""Waiting for an action of another process or thread."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 180.0
"""Seconds after which a test gives up, on a slow machine too; ranks sleep longer, so no job ends by their end."""


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Whether a condition becomes true in time. It is evaluated at least once."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
