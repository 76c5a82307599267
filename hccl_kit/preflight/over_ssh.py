"""Run a command on many servers over ssh: limited in time, output size and number at once."""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from subprocess import PIPE, Popen, TimeoutExpired
from threading import Event
from typing import IO, NamedTuple, cast

from hccl_kit.base.errors import KitError
from hccl_kit.base.host_name import is_host
from hccl_kit.base.interruptible import POLL, interruptible, is_interrupted
from hccl_kit.base.progress import track
from hccl_kit.discovery.driver_tool import killed_on_error, wait

AT_ONCE = 64
"""Connections at a time; each is a process on this machine."""
TIMEOUT = 60.0
"""Seconds for one server; the tools take a few for 16 cards."""
CONNECT = 10
"""Seconds until ssh gives up connecting."""
MAX_OUTPUT = 4 << 20
"""Bytes of one reply; the report on 64 cards with every possible finding is some hundred KB."""
MAX_OUTPUTS, LEAST_OUTPUT = 1 << 30, 256 << 10
"""Bytes of all replies together, and the bytes that each server may print in any case."""
MAX_STDERR = 4096
SSH_VARIABLE = "HCCL_KIT_SSH"
OPTIONS = ("-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT}", "-o", "ServerAliveInterval=5")


class Reply(NamedTuple):
    """What a command printed on one server, between `started` and `ended` by our clock (seconds since 1970).

    `text` is its standard output, `stderr` one line of its standard error or of ssh's; `error`: why there is no text.
    """

    text: str
    started: float
    ended: float
    error: str | None = None
    stderr: str = ""


def ssh_command(environ: Mapping[str, str], options: Sequence[str]) -> tuple[str, ...]:
    """The command up to the address: HCCL_KIT_SSH in place of `ssh`, and -o for each of `options`."""
    try:
        start = shlex.split(environ.get(SSH_VARIABLE) or "ssh")
    except ValueError as error:
        raise KitError(
            "preflight.ssh-command",
            "{variable} cannot be parsed as a command: {reason}",
            variable=SSH_VARIABLE,
            reason=error,
        ) from error
    return (*start, *(word for option in options for word in ("-o", option)), *OPTIONS)


def program_there(remote: str | None) -> list[str]:
    """The command of hccl-kit on the other servers: `remote`, else the path of the program that runs here.

    Raises KitError if `remote` is not a command.
    """
    if remote:
        try:
            return shlex.split(remote)
        except ValueError as error:
            raise KitError(
                "preflight.remote-command",
                "--remote {remote!r} cannot be parsed as a command: {reason}",
                remote=remote,
                reason=error,
            ) from error
    started = Path(sys.argv[0])
    return [str(started.absolute())] if started.name == "hccl-kit" and started.is_file() else ["hccl-kit"]


def run_on_all(
    ssh: Sequence[str],
    commands: Sequence[tuple[str, str]],
    stdin: bytes,
    *,
    timeout: float = TIMEOUT,
    quiet: bool = False,
) -> list[Reply]:
    """The replies to pairs of an address and a shell command, in their order; each command reads `stdin`.

    An address that has a `refusal` is not asked. `quiet` shows no progress. After an interrupt no ssh is left running.
    """
    return interruptible(lambda: _run_on_all(ssh, commands, stdin, timeout, quiet=quiet))


def _run_on_all(
    ssh: Sequence[str], commands: Sequence[tuple[str, str]], stdin: bytes, timeout: float, *, quiet: bool
) -> list[Reply]:
    stop = Event()
    most = max(LEAST_OUTPUT, min(MAX_OUTPUT, MAX_OUTPUTS // max(1, len(commands))))
    with tempfile.NamedTemporaryFile() as file, ThreadPoolExecutor(AT_ONCE) as pool:
        file.write(stdin)
        file.flush()

        def ask(address: str, command: str) -> Reply:
            if why := refusal(address):
                return Reply("", time.time(), time.time(), why)
            return _run((*ssh, "--", address, command), Path(file.name), timeout, stop, most)

        try:
            started = [pool.submit(ask, address, command) for address, command in commands]
            with track(as_completed(started), len(started), "checking servers", quiet=quiet) as replies:
                for _ in replies:
                    pass
            return [reply.result() for reply in started]
        finally:
            stop.set()  # nothing reads the output of those that still run
            pool.shutdown(cancel_futures=True)


def refusal(address: str) -> str | None:
    """Why ssh is not given this address; None if it is."""
    return None if is_host(address) else "not a valid address or host name for ssh"


def _run(command: Sequence[str], stdin: Path, timeout: float, stop: Event, most: int) -> Reply:
    started = time.time()
    if is_interrupted():
        return Reply("", started, started, "not asked")
    try:
        with stdin.open("rb") as source:
            process = Popen(command, stdin=source, stdout=PIPE, stderr=PIPE, bufsize=0, start_new_session=True)
    except OSError as error:
        return Reply("", started, time.time(), f"{command[0]} cannot be started: {error.strerror}")
    try:
        with killed_on_error(process):
            text, stderr = _output(process, time.monotonic() + timeout, stop, most)
    except TimeoutExpired:
        return Reply("", started, time.time(), f"no answer in {timeout:g} s")
    line = _error_line(stderr)
    if text.strip():
        return Reply(text, started, time.time(), stderr=line)
    return Reply("", started, time.time(), line or f"it printed nothing, exit code {process.returncode}")


def _output(process: Popen[bytes], deadline: float, stop: Event, most_output: int) -> tuple[str, str]:
    """Standard output and error until the process ends: the first `most_output` bytes, and MAX_STDERR of the errors.

    Raises TimeoutExpired at `deadline` (monotonic), if `stop` is set, or after a signal.
    """
    kept = {process.stdout: bytearray(), process.stderr: bytearray()}
    most = {process.stdout: most_output, process.stderr: MAX_STDERR}
    with DefaultSelector() as selector:
        for stream in kept:
            assert stream is not None
            selector.register(stream, EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0 or stop.is_set() or is_interrupted():
                raise TimeoutExpired(process.args, left)
            for key, _ in selector.select(min(left, POLL)):
                stream = cast("IO[bytes]", key.fileobj)
                piece = stream.read(1 << 16)
                kept[stream] += piece[: most[stream] - len(kept[stream])]
                if not piece:
                    selector.unregister(stream)
    wait(process, deadline)
    text, stderr = (part.decode("utf-8", "replace") for part in kept.values())
    return text, stderr


def _error_line(text: str) -> str:
    """An error of hccl-kit, else the last line: banners and warnings come before it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if line.startswith("error: ")), lines[-1] if lines else "")[:200]
