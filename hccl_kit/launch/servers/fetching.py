"""The logs of servers that have another disk: each sends an archive, which `unpacking` writes."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hccl_kit.base.child import wait
from hccl_kit.base.errors import INTERRUPTED
from hccl_kit.base.interruptible import interruptible, is_interrupted
from hccl_kit.base.limited_child import Limits, limited_program
from hccl_kit.base.message import Message
from hccl_kit.base.process_end import exit_code
from hccl_kit.base.terminal import printable

AT_ONCE = 16
"""Servers whose logs are fetched at a time."""
TIMEOUT = 600.0
"""Seconds that the logs of a server may take."""
LIMITS = Limits(memory=1 << 30, seconds=600)


def fetch_logs(servers: Sequence[str], reach: Callable[[str, Sequence[str]], Sequence[str]], folder: Path) -> list[str]:
    """Fetch the logs of these servers into `folder`, which is at the same path there; returns what went wrong.

    `reach` makes the words that run a command on a server. After Ctrl-C nothing is fetched any more.
    """

    def fetch(server: str) -> str:
        command = ("sh", "-c", f"cd {shlex.quote(str(folder))} && exec tar -cf - .")
        why = "" if is_interrupted() else _fetch(reach(server, command), folder)
        if not why:
            return ""
        return Message(
            "launch.not-fetched", "note: not all logs of server {server} were fetched: {why}", server=server, why=why
        )

    def fetch_all() -> list[str]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(filter(None, pool.map(fetch, servers)))

    return interruptible(fetch_all)


def _fetch(words: Sequence[str], folder: Path) -> str:
    """Why the logs are not complete, "" if they are."""
    program = limited_program(LIMITS, "hccl_kit.launch.servers.unpacking", str(folder))
    with (
        subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as sender,
        subprocess.Popen(program, stdin=sender.stdout, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as writer,
    ):
        assert sender.stdout
        sender.stdout.close()
        try:
            wait(writer, time.monotonic() + TIMEOUT)
            assert writer.stderr
            said = writer.stderr.read(4096).decode(errors="replace").strip().splitlines()
            if writer.returncode:
                return printable(said[-1][:200]) if said else exit_code(writer.returncode)
            if code := sender.wait(5):
                return Message("launch.sender", "{program} ended with {code}", program=words[0], code=exit_code(code))
            return ""
        except subprocess.TimeoutExpired:
            slow = Message("launch.too-slow", "they take more than {seconds:g} s", seconds=TIMEOUT)
            return INTERRUPTED if is_interrupted() else slow
        finally:
            sender.kill()
            writer.kill()
