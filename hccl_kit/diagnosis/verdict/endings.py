"""How a rank ended, in words, what to do about a kill, and what is at fault, as far as a restart depends on it."""

from __future__ import annotations

from signal import SIGKILL

from hccl_kit.base.message import Message
from hccl_kit.base.process_end import killed_by
from hccl_kit.diagnosis.facts import Fact, Fault
from hccl_kit.diagnosis.verdict.diagnosis import Blame


def ended(signal: int | None, code: int | None) -> Message:
    """A sentence without its subject: `was killed by SIGTERM`, `ended with exit code 3`."""
    if signal is None and code is None:
        return Message("diagnosis.unheard", "stopped answering MindSpore's scheduler")
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


OF_PROGRAM = frozenset(
    (
        *("AssertionError", "AttributeError", "IndentationError", "IndexError", "KeyError", "NameError"),
        *("NotImplementedError", "RecursionError", "SyntaxError", "TabError", "TypeError", "UnboundLocalError"),
        *("ValueError", "ZeroDivisionError"),
    )
)
"""Exceptions that a program meets again. Others may be of a host, a card, a network or another rank."""


def of_exception(name: str) -> Blame | None:
    """What is at fault for an exception of a program; None if that is not clear."""
    return "program" if name in OF_PROGRAM else None


def of_fact(fact: Fact) -> Blame | None:
    """What is at fault for the first failure; None if that is not clear."""
    if not isinstance(fact, Fault):
        return None
    if fact.of_card:
        return "card"
    return of_exception(fact.kind.partition(":")[0]) if fact.module == "PYTHON" else None
