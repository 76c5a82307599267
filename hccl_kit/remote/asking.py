"""A question to many hosts: a command that each runs, limited in time, in what it may print, and in number at once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from threading import Event
from typing import NamedTuple

from hccl_kit.base.child import TooMuchError, killed_on_error, output_of
from hccl_kit.base.interruptible import interruptible, is_interrupted
from hccl_kit.base.message import Message
from hccl_kit.base.progress import track
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import no_answer, not_started
from hccl_kit.remote.ssh import over_ssh, refusal

AT_ONCE = 64
"""Connections at a time; each is a process on this machine."""
TIMEOUT = 60.0
"""Seconds for one host; the tools of the driver take a few for 16 cards."""
MAX_OUTPUT = 4 << 20
"""Bytes of one reply; the report on 64 cards with every possible finding is some hundred KB."""
MAX_OUTPUTS, LEAST_OUTPUT = 1 << 30, 256 << 10
"""Bytes of all replies together, and the bytes that each host may print in any case."""


class Question(NamedTuple):
    """The address of a host, and the command that it runs."""

    address: str
    command: Sequence[str]


class Reply(NamedTuple):
    """What a command printed on one host, between `started` and `ended` by our clock (seconds since 1970).

    `text` is its standard output, `stderr` one line of its standard error or of ssh's; `error`: why there is no text.
    """

    text: str
    started: float
    ended: float
    error: str | None = None
    stderr: str = ""

    def document(self) -> str:
        """The last line that is a JSON object, which a login may print something before.

        Raises ValueError with what was found instead.
        """
        if self.error is not None:
            raise ValueError(self.error)
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        document = next((line for line in reversed(lines) if line.startswith("{") and line.endswith("}")), None)
        if document is None:
            raise ValueError(self.stderr or Message("remote.other", "it printed {text!r}", text=lines[-1][:200]))
        return document


def ask(
    start: Sequence[str],
    questions: Sequence[Question],
    stdin: bytes = b"",
    *,
    timeout: float = TIMEOUT,
    quiet: bool = False,
) -> list[Reply]:
    """The replies in the order of the questions; every command reads `stdin`. `start` is from `ssh_start`.

    An address that has a `refusal` is not asked. `quiet` shows no progress. After an interrupt no ssh is left running.
    """
    return interruptible(lambda: _ask(start, questions, stdin, timeout, quiet=quiet))


def _ask(
    start: Sequence[str], questions: Sequence[Question], stdin: bytes, timeout: float, *, quiet: bool
) -> list[Reply]:
    stop = Event()
    most = max(LEAST_OUTPUT, min(MAX_OUTPUT, MAX_OUTPUTS // max(1, len(questions))))
    with tempfile.NamedTemporaryFile() as file, ThreadPoolExecutor(AT_ONCE) as pool:
        file.write(stdin)
        file.flush()

        def ask_one(address: str, command: Sequence[str]) -> Reply:
            if why := refusal(address):
                return Reply("", time.time(), time.time(), why)
            return _run(over_ssh(start, address, command), Path(file.name), timeout, stop, most)

        try:
            started = [pool.submit(ask_one, address, command) for address, command in questions]
            with track(as_completed(started), len(started), "checking servers", quiet=quiet) as replies:
                for _ in replies:
                    pass
            return [reply.result() for reply in started]
        finally:
            stop.set()  # nothing reads the output of those that still run
            pool.shutdown(cancel_futures=True)


def _run(command: Sequence[str], stdin: Path, timeout: float, stop: Event, most: int) -> Reply:
    started = time.time()
    if is_interrupted():
        return Reply("", started, started, Message("remote.not-asked", "not asked"))
    try:
        with stdin.open("rb") as source:
            process = Popen(command, stdin=source, stdout=PIPE, stderr=PIPE, bufsize=0, start_new_session=True)
    except OSError as error:
        return Reply("", started, time.time(), not_started(command[0], error))
    try:
        with killed_on_error(process):
            text, stderr = output_of(process, time.monotonic() + timeout, most, stop.is_set)
    except TimeoutExpired:
        return Reply("", started, time.time(), no_answer(timeout))
    except TooMuchError:
        much = Message("remote.too-much", "it printed more than {number} bytes", number=most)
        return Reply("", started, time.time(), much)
    line = error_line(stderr)
    if text.strip():
        return Reply(text, started, time.time(), stderr=line)
    nothing = Message("remote.nothing", "it printed nothing, exit code {code}", code=process.returncode)
    return Reply("", started, time.time(), line or nothing)


def error_line(text: str) -> str:
    """An error of a program of this package, else the last line: banners and warnings come before it; "" for none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return printable(next((line for line in lines if line.startswith("error: ")), lines[-1] if lines else "")[:200])
