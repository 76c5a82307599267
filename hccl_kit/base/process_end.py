"""How a process ended, in words."""

from __future__ import annotations

from signal import Signals

from hccl_kit.base.message import Message


def exit_code(number: int | None) -> Message:
    """How a process ended: "exit code 1"."""
    return Message("base.exit-code", "exit code {code}", code=number)


def killed_by(number: int) -> Message:
    """How a process ended: `killed_by(9)` is "killed by SIGKILL"; signals without a name have their number."""
    try:
        name = Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return Message("base.killed", "killed by {signal}", signal=name)
