"""Runs the ranks of a pod; manifests for Kubernetes contain this program and `pod_start`.

    python3 -Iu run.py RANKS COMMAND ...

RANKS is JSON: the variables to unset, and the name and variables of each rank:
[["ASCEND_DEVICE_ID"], [["0", {"RANK_ID": "0"}]]].

The output of the ranks goes to the log of the container, every line prefixed with its rank. The first rank that fails
ends the others; the last lines of its output are printed last, and the container exits with its code (128 + signal).
Other exit codes: 2 could not start, 143 SIGTERM, with which Kubernetes ends a pod. This is process 1 of the container,
so all processes end with it. It needs Python 3.8 only.
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
"""Seconds between SIGTERM and SIGKILL; Kubernetes kills a pod 30 s after its own SIGTERM."""
TAIL = 30
"""Lines in the report on the rank that failed."""
MAX_LINE = 1 << 16
"""Bytes of a line; a longer one is split."""


class Terminated(BaseException):
    """Kubernetes ends the pod."""


class End(NamedTuple):
    """The end of a process: the name of its rank, None if it is not a rank, and its exit code."""

    rank: str | None
    code: int


class Group:
    """The ranks of this pod. As process 1, it also reaps orphans."""

    def __init__(self) -> None:
        self.alive: dict[int, str] = {}
        self.tails: dict[str, deque[bytes]] = {}
        self.pumps: list[threading.Thread] = []
        self.lock = threading.Lock()

    def start(self, name: str, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """Start a rank as leader of a process group, and a thread that prints its output."""
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
        """Print the lines of a rank, prefixed with its name; lines of several ranks do not mix."""
        while line := lines.readline(MAX_LINE):
            whole = line if line.endswith(b"\n") else line + b"\n"
            self.tails[name].append(whole)
            with self.lock:
                write(1, f"[{name}] ".encode() + whole)

    def next_end(self, options: int = 0) -> End | None:
        """The next process that ends; None if none has ended yet."""
        pid, status = os.waitpid(-1, options)
        if pid == 0:
            return None
        code = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return End(self.alive.pop(pid, None), code)

    def end(self) -> None:
        """End all ranks with SIGTERM, and with SIGKILL after GRACE; then print the rest of their output."""
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
    """Write all bytes to the log of the container, which may be closed."""
    with suppress(OSError):
        while data:
            data = data[os.write(to, data) :]


def log(text: str) -> None:
    """Write a message to the log of the container."""
    write(2, f"{text}\n".encode(errors="replace"))


def terminate(*_: object) -> NoReturn:
    """The handler of SIGTERM; process 1 ignores signals without a handler."""
    raise Terminated


def report(rank: str, code: int, tail: Sequence[bytes]) -> None:
    """Report the rank that failed, at the end of the log, which Kubernetes shows as the reason."""
    name = ""
    if code > 128:
        with suppress(ValueError):
            name = f" ({signal.Signals(code - 128).name})"
    what = f"rank {rank}" if rank.isdecimal() else rank
    log(f"\nerror: {what} failed with exit code {code}{name}; its last lines:")
    log(b"".join(tail).decode(errors="replace").rstrip("\n"))


def run(ranks: Sequence[tuple[str, Mapping[str, str]]], command: Sequence[str]) -> int:
    """Run the ranks, each with its environment, and return the exit code of the container."""
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
        log(f"error: cannot start {command[0]}: {error.strerror}")
        failed = End(None, 2)
    except Terminated:
        log("ended by SIGTERM")
        failed = End(None, 143)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    group.end()
    if failed and failed.rank:
        report(failed.rank, failed.code, group.tails[failed.rank])
    return failed.code if failed else 0


def main(argv: Sequence[str]) -> int:
    """Run the program, and return its exit code."""
    (unset, ranks), command = json.loads(argv[0]), argv[1:]
    base = {name: value for name, value in os.environ.items() if name not in unset}
    return run([(name, {**base, **given}) for name, given in ranks], command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
