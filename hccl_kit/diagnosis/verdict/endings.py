"""How a rank ended, in words, and what to do about a kill: the same whatever has noted it."""

from __future__ import annotations

from signal import SIGKILL

from hccl_kit.base.wording import killed_by


def ended(signal: int | None, code: int | None) -> str:
    """A sentence without its subject: `was killed by SIGTERM`, `ended with exit code 3`."""
    if signal is None:
        return f"ended with exit code {code}"
    return f"was {killed_by(signal)}" + (" (perhaps by the out-of-memory killer)" if signal == SIGKILL else "")


def fix_of_kill(host: str) -> str:
    """The next step after SIGKILL; `host` is an address, or words for a server."""
    command = "dmesg -T | grep -i -E 'out of memory|oom'"
    return f"look for the out-of-memory killer on {host}: {command}; else see who sent the signal"
