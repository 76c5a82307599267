"""How a rank ended, in words, and what to do about a kill: the same whatever has noted it."""

from __future__ import annotations

from signal import SIGKILL

from hccl_kit.base.message import Message
from hccl_kit.base.process_end import killed_by


def ended(signal: int | None, code: int | None) -> Message:
    """A sentence without its subject: `was killed by SIGTERM`, `ended with exit code 3`."""
    if signal is None:
        return Message("diagnosis.ended", "ended with exit code {code}", code=code)
    killed = Message("diagnosis.killed", "was {killed}", killed=killed_by(signal))
    if signal != SIGKILL:
        return killed
    return Message("diagnosis.killed-for-memory", "{killed} (perhaps by the out-of-memory killer)", killed=killed)


def fix_of_kill(host: str) -> Message:
    """The next step after SIGKILL; `host` is an address, or words for a server."""
    return Message(
        "diagnosis.killed.fix",
        "look for the out-of-memory killer on {host}: {command}; else see who sent the signal",
        host=host,
        command="dmesg -T | grep -i -E 'out of memory|oom'",
    )
