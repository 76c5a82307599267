"""A process of this package that reads what may be hostile, within limits on its memory and its processor time.

Readers of others (archives, pickles, MATLAB files) take what a few bytes ask for, and some crash. Then only the child
ends, and its parent says which file it was reading. The kernel keeps the limits of all systems that enforce RLIMIT_AS:
macOS does not, so there only processor time is limited.
"""

from __future__ import annotations

import math
import os
import resource
import runpy
import signal
import sys
import threading
import time
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.own_program import own_program

_CHECKED = 1.0
"""Seconds between two looks at whether the parent lives."""


class Limits(NamedTuple):
    """Bytes of address space, seconds of processor time, and bytes of stack of the main thread."""

    memory: int
    seconds: int
    stack: int = 8 << 20


def limited_program(limits: Limits, module: str, *arguments: str) -> tuple[str, ...]:
    """The command that runs a module within `limits`, as a child of this process: it ends when this one does."""
    return own_program(__name__, *map(str, (os.getpid(), *limits)), module, *arguments)


def why_ended(code: int, limits: Limits) -> str:
    """Why a child ended early: `code` is what `subprocess` says of it."""
    if code == -signal.SIGXCPU:
        return Message("base.reads-too-long", "reading it takes more than {seconds} s", seconds=limits.seconds)
    if code < 0:
        return Message("base.read-killed", "reading it ends with {signal}", signal=signal.Signals(-code).name)
    return Message("base.read-fails", "reading it fails")


def allow_seconds(seconds: int) -> None:
    """Let this process have `seconds` of processor time from now on."""
    _limit(resource.RLIMIT_CPU, math.ceil(time.process_time()) + seconds)


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_CHECKED)
    os._exit(1)


def _run(parent: int, limits: Limits, module: str) -> None:
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _limit(resource.RLIMIT_AS, limits.memory)
    _limit(resource.RLIMIT_STACK, limits.stack)
    _limit(resource.RLIMIT_CORE, 0)
    allow_seconds(limits.seconds)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    (_parent, *_limits), (_module, *sys.argv[1:]) = map(int, sys.argv[1:5]), sys.argv[5:]
    _run(_parent, Limits(*_limits), _module)
