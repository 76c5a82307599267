"""Runs the ranks of one pod; the manifests for Kubernetes carry this text beside that of `pod_start`.

    python3 -Iu run.py RANKS COMMAND ...

RANKS is JSON: the variables to unset, and for each rank what it is called and the variables that it gets:
[["ASCEND_DEVICE_ID"], [["0", {"RANK_ID": "0"}]]].

What the ranks say goes to the log of the container, every line with its rank in front. The first rank that fails ends
the others; the end of what it said comes last, and its exit code (128 + signal) is the container's. 2 could not start,
143 SIGTERM, which is how Kubernetes ends a pod. This process is the first of the container, so when it ends, all that
runs there ends. It needs Python 3.8 and nothing of ours.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, NamedTuple, NoReturn

GRACE = 10.0
"""Seconds between TERM and KILL; Kubernetes kills a pod 30 s after its own TERM."""
TAIL = 30
"""Lines that are shown again of the rank that failed."""
LONGEST = 1 << 16
"""Bytes of a line; a longer one is shown in pieces."""


class Terminated(BaseException):
    """Kubernetes ends the pod."""


class End(NamedTuple):
    """A process has ended: the name of its rank, None where it is none of ours, and its exit code."""

    rank: str | None
    code: int


class Group:
    """The ranks of this pod as processes. Orphans that end here are reaped, as the first process has to."""

    def __init__(self) -> None:
        self.alive: dict[int, str] = {}
        self.tails: dict[str, deque[bytes]] = {}
        self.pumps: list[threading.Thread] = []
        self.lock = threading.Lock()

    def start(self, name: str, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """One rank, the leader of its group, and the thread that shows what it says."""
        process = subprocess.Popen(
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.alive[process.pid] = name
        process.returncode = 0  # `next_end` reaps it
        self.tails[name] = deque(maxlen=TAIL)
        pump = threading.Thread(target=self.show, args=(name, process.stdout), daemon=True)
        self.pumps.append(pump)
        pump.start()

    def show(self, name: str, lines: IO[bytes]) -> None:
        """Every line of a rank with its name in front; lines of several ranks do not mix."""
        while line := lines.readline(LONGEST):
            whole = line if line.endswith(b"\n") else line + b"\n"
            self.tails[name].append(whole)
            with self.lock:
                write(1, f"[{name}] ".encode() + whole)

    def next_end(self, options: int = 0) -> End | None:
        """The next process that ends; None where none has ended yet."""
        pid, status = os.waitpid(-1, options)
        if pid == 0:
            return None
        code = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return End(self.alive.pop(pid, None), code)

    def end(self) -> None:
        """TERM, grace, KILL to every group that is left; then the rest of what the ranks said."""
        for sent in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.alive:
                with suppress(OSError):
                    os.killpg(pid, sent)
            end = time.monotonic() + GRACE
            while self.alive and time.monotonic() < end:
                if self.next_end(os.WNOHANG) is None:
                    time.sleep(0.02)
        for pump in self.pumps:
            pump.join(1)


def write(to: int, data: bytes) -> None:
    """All of the bytes to the log of the container, which may be gone."""
    with suppress(OSError):
        while data:
            data = data[os.write(to, data) :]


def say(text: str) -> None:
    """One text to the log of the container."""
    write(2, f"{text}\n".encode(errors="replace"))


def terminate(*_: object) -> NoReturn:
    """The handler of SIGTERM, which the first process of a pod would not hear without one."""
    raise Terminated


def report(rank: str, code: int, tail: Sequence[bytes]) -> None:
    """Who failed, and the end of what it said: the last of the log, which Kubernetes shows as the reason."""
    name = ""
    if code > 128:
        with suppress(ValueError):
            name = f" ({signal.Signals(code - 128).name})"
    who = f"rank {rank}" if rank.isdecimal() else rank
    say(f"\nerror: {who} failed with exit code {code}{name}; the end of what it said:")
    say(b"".join(tail).decode(errors="replace").rstrip("\n"))


def run(ranks: Sequence[tuple[str, Mapping[str, str]]], command: Sequence[str]) -> int:
    """Start the ranks, each with its environment, and return the exit code of the container when they are over."""
    signal.signal(signal.SIGTERM, terminate)
    group = Group()
    failed = None
    try:
        for name, environ in ranks:
            group.start(name, command, environ)
        while group.alive and not failed:
            end = group.next_end()
            failed = end if end and end.rank and end.code else None
    except OSError as error:
        say(f"error: cannot start {command[0]}: {error.strerror}")
        failed = End(None, 2)
    except Terminated:
        say("ended by SIGTERM")
        failed = End(None, 143)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    group.end()
    if failed and failed.rank:
        report(failed.rank, failed.code, group.tails[failed.rank])
    return failed.code if failed else 0


def main(argv: Sequence[str]) -> int:
    """The program; returns its exit code."""
    (unset, ranks), command = json.loads(argv[0]), argv[1:]
    base = {name: value for name, value in os.environ.items() if name not in unset}
    return run([(name, {**base, **given}) for name, given in ranks], command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
