"""Waiting for an action of another process or thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 180.0
"""Timeout of a test in seconds, also on a slow machine; ranks sleep longer, so that no job ends by itself."""


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE) -> bool:
    """Whether a condition becomes true in time. It is evaluated at least once."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def has_ended(pid: int) -> bool:
    """Whether a process has ended, even if it has not been waited for yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
