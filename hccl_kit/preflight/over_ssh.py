"""Put one question to many servers over ssh: bounded in time, size and number at once."""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from subprocess import PIPE, Popen, TimeoutExpired
from threading import Event
from typing import IO, NamedTuple, cast

from hccl_kit.base.errors import KitError
from hccl_kit.base.host_name import is_host
from hccl_kit.discovery.driver_tool import killed_on_error

AT_ONCE = 32
TIMEOUT = 60.0
"""Seconds one server may take; asking 16 cards takes a few."""
CONNECT = 10
"""Seconds until ssh gives up."""
MAX_ANSWER = 4 << 20
"""Bytes; 64 cards with all that can be wrong are some hundred KB."""
MAX_COMPLAINT = 4096
SSH_VARIABLE = "HCCL_KIT_SSH"
OPTIONS = ("-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT}", "-o", "ServerAliveInterval=5")

_BEAT = 0.2
"""Seconds after which who waits looks whether somebody gave up."""


class Said(NamedTuple):
    """What came of asking one server, between `asked` and `answered` by our clock (seconds since 1970).

    `text` is what it printed, `complaint` a line of what it or ssh complained of; `error` why there is no text.
    """

    text: str
    asked: float
    answered: float
    error: str | None = None
    complaint: str = ""


def ssh_command(environ: Mapping[str, str], options: Sequence[str]) -> tuple[str, ...]:
    """The command up to the address: HCCL_KIT_SSH in place of `ssh`, and `options` for its -o."""
    try:
        start = shlex.split(environ.get(SSH_VARIABLE) or "ssh")
    except ValueError as error:
        raise KitError(f"{SSH_VARIABLE} cannot be read as a command: {error}") from error
    return (*start, *(word for option in options for word in ("-o", option)), *OPTIONS)


def ask_all(
    ssh: Sequence[str], questions: Sequence[tuple[str, str]], stdin: bytes, *, timeout: float = TIMEOUT
) -> list[Said]:
    """What each address says to its question, a line of shell, in their order; each is given `stdin`.

    Who interrupts this leaves no ssh behind.
    """
    stop = Event()
    with tempfile.NamedTemporaryFile() as file, ThreadPoolExecutor(AT_ONCE) as pool:
        file.write(stdin)
        file.flush()
        commands = [(*ssh, "--", address, question) for address, question in questions]
        try:
            asked = [pool.submit(_ask, command, Path(file.name), timeout, stop) for command in commands]
            return [one.result() for one in asked]
        finally:
            stop.set()  # those that still run have nobody to answer
            pool.shutdown(cancel_futures=True)


def refusal(address: str) -> str | None:
    """Why ssh is not asked to go there."""
    return None if is_host(address) else "it is no address or host name that ssh could reach"


def _ask(command: Sequence[str], stdin: Path, timeout: float, stop: Event) -> Said:
    asked = time.time()
    try:
        with stdin.open("rb") as source:
            process = Popen(command, stdin=source, stdout=PIPE, stderr=PIPE, bufsize=0, start_new_session=True)
    except OSError as error:
        return Said("", asked, time.time(), f"{command[0]} cannot be started: {error.strerror}")
    try:
        with killed_on_error(process):
            text, complaint = _to_its_end(process, time.monotonic() + timeout, stop)
    except TimeoutExpired:
        return Said("", asked, time.time(), f"no answer in {timeout:g} s")
    line = _telling_line(complaint)
    if text.strip():
        return Said(text, asked, time.time(), complaint=line)
    return Said("", asked, time.time(), line or f"it printed nothing, exit code {process.returncode}")


def _to_its_end(process: Popen[bytes], deadline: float, stop: Event) -> tuple[str, str]:
    """What it prints and what it complains of, until it ends; TimeoutExpired at `deadline` (monotonic) or by `stop`."""
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    most = {process.stdout: MAX_ANSWER, process.stderr: MAX_COMPLAINT}
    with DefaultSelector() as selector:
        for stream in kept:
            assert stream is not None
            selector.register(stream, EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0 or stop.is_set():
                raise TimeoutExpired(process.args, left)
            for key, _ in selector.select(min(left, _BEAT)):
                stream = cast("IO[bytes]", key.fileobj)
                piece = stream.read(1 << 16)
                kept[stream] += piece[: most[stream] - len(kept[stream])]
                if not piece:
                    selector.unregister(stream)
    process.wait(max(0.0, deadline - time.monotonic()))
    text, complaint = (part.decode("utf-8", "replace") for part in kept.values())
    return text, complaint


def _telling_line(text: str) -> str:
    """An error of ours, else the last line: before it come banners and warnings."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("error: ")), lines[-1] if lines else "")[:200]
