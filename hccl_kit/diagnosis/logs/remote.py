"""Read the logs of other hosts over ssh: each sends a tar archive, which is read as it comes and never written.

A host is not trusted: what it sends is limited in size and time. One that does not answer is a note. The command there
only reads: `tar` of one folder.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import PurePath
from select import select
from threading import Thread
from typing import IO, NamedTuple

from hccl_kit.base.child import killed_on_error, wait
from hccl_kit.base.interruptible import POLL, interruptible, is_interrupted
from hccl_kit.base.message import Message
from hccl_kit.base.wording import not_started
from hccl_kit.diagnosis.logs import archives
from hccl_kit.diagnosis.logs.log_file import Found
from hccl_kit.diagnosis.logs.reader_process import Request
from hccl_kit.diagnosis.logs.readers import EndedError, InterruptedReadingError, Readers
from hccl_kit.discovery.driver_tool import excerpt
from hccl_kit.remote.ssh import over_ssh, refusal

AT_ONCE = 8
"""Hosts that are read at a time: reading keeps a core busy."""
TIMEOUT = 600.0
"""Seconds for one host."""
MAX_BYTES = 32 << 30
"""Maximum number of bytes from one host."""
MAX_STDERR = 4096
"""Bytes of what one host prints as errors that are kept: its end."""
FOLDER = "${ASCEND_PROCESS_LOG_PATH:-$HOME/ascend/log}"
"""Where HCCL writes its logs, for the shell there."""


class Host(NamedTuple):
    """A server: its name, which becomes that of the worker, and its address for ssh."""

    name: str
    address: str


class Remote(NamedTuple):
    """The hosts whose logs are read, the ssh command up to the address, and the folder there (None: that of HCCL)."""

    hosts: Sequence[Host]
    ssh: Sequence[str]
    folder: str | None = None
    timeout: float = TIMEOUT


def read_remote(remote: Remote) -> list[list[Found]]:
    """What each host gave, in their order; a note where that was nothing. If interrupted, no ssh is left running."""

    def read_all() -> list[list[Found]]:
        def read(host: Host) -> list[Found]:
            return [] if is_interrupted() else _read_host(host, remote, readers)

        with Readers() as readers, ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(read, remote.hosts))

    return interruptible(read_all)


def _read_host(host: Host, remote: Remote, readers: Readers) -> list[Found]:
    if why := refusal(host.address):
        return [_note(host, why)]
    command = over_ssh(remote.ssh, host.address, ("sh", "-c", _command(remote.folder)))
    contents: list[Found] = []
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        return [_note(host, not_started(command[0], error))]
    end = time.monotonic() + remote.timeout
    assert process.stdout
    assert process.stderr
    errors = _Errors(process.stderr)
    request = Request(
        host.name,
        str(PurePath("/", host.name.replace("/", "_"))),
        is_archive=True,
        seconds=remote.timeout,
        most=MAX_BYTES,
    )
    try:
        with killed_on_error(process), readers.one() as reader:
            for part in reader.read(process.stdout.fileno(), request):
                contents.append(part)
            code = wait(process, end)
            while errors.is_alive() and select([process.stderr], [], [], 0)[0]:
                errors.join(POLL)
    except (EndedError, OSError, subprocess.TimeoutExpired) as error:
        why = "no answer in time" if isinstance(error, subprocess.TimeoutExpired) else str(error)
        return [*contents, _note(host, why, has_some=bool(contents)), *errors.note(host)]
    except InterruptedReadingError:
        return contents
    if not contents:
        none = Message("diagnosis.no-remote-logs", "no logs, exit code {code}", code=code)
        contents.append(_note(host, errors.last_line or none))
    return [*contents, *errors.note(host)]


class _Errors(Thread):
    """The end of what a host prints as errors, at most MAX_STDERR bytes; a full pipe would stop the process there."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._size = 0
        self._end = b""
        self.start()

    def run(self) -> None:
        """Read until the end, or until the stream is closed: a child of ssh may keep its errors open for ever."""
        with suppress(ValueError, OSError):
            while piece := self._stream.read(archives.PIECE):
                self._size += len(piece)
                self._end = (self._end + piece)[-MAX_STDERR:]

    @property
    def last_line(self) -> str:
        """The last line; "" if there is none."""
        lines = self._end.decode("utf-8", "replace").strip().split("\n")
        return excerpt(lines[-1]) if lines[-1] else ""

    def note(self, host: Host) -> list[Found]:
        """That the start is left out, if it is."""
        if self._size <= MAX_STDERR:
            return []
        note = Message(
            "diagnosis.many-errors",
            "{host} printed {number} bytes of errors: only the end was read",
            host=host.name,
            number=self._size,
        )
        return [Found(None, (), (note,))]


def _command(folder: str | None) -> str:
    quoted = f'"{FOLDER}"' if folder is None else shlex.quote(folder)
    return f"cd -- {quoted} && exec tar -cf - ."


def _note(host: Host, why: str, *, has_some: bool = False) -> Found:
    if has_some:
        note = Message(
            "diagnosis.host-cut", "the logs of {host} were not all read: {reason}", host=host.name, reason=why
        )
    else:
        note = Message(
            "diagnosis.host-unread", "the logs of {host} cannot be read: {reason}", host=host.name, reason=why
        )
    return Found(None, (), (note,))
