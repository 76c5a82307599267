"""Read the logs of other hosts over ssh: each sends a tar archive, which is read as it comes and never written.

A host is not trusted: what it sends is limited in size and time. One that does not answer is a note. The command there
only reads: `tar` of one folder.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePath
from select import select
from typing import NamedTuple

from hccl_kit.base.interruptible import POLL, interruptible, is_interrupted
from hccl_kit.diagnosis.logs import archives, sources
from hccl_kit.diagnosis.logs.log_file import Found, Log, read_log
from hccl_kit.discovery.driver_tool import excerpt, killed_on_error, wait
from hccl_kit.preflight.over_ssh import refusal

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

    def read(host: Host) -> list[Found]:
        return [] if is_interrupted() else _read_host(host, remote)

    def read_all() -> list[list[Found]]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(read, remote.hosts))

    return interruptible(read_all)


def _read_host(host: Host, remote: Remote) -> list[Found]:
    if why := refusal(host.address):
        return [_note(host, why)]
    command = (*remote.ssh, "--", host.address, _command(remote.folder))
    found: list[Found] = []
    errors = _Errors()
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
        return [_note(host, f"{command[0]} cannot be started: {error.strerror}")]
    try:
        with killed_on_error(process):
            end = time.monotonic() + remote.timeout
            pieces = _pieces(process, errors, end)
            for one in _members(host, pieces):
                found.append(one)
            for _ in pieces:  # what follows the archive, and errors: a full pipe would stop the process there
                pass
            code = wait(process, end)
    except (archives.DamagedError, OSError) as error:
        return [*found, _note(host, str(error), has_some=bool(found)), *errors.note(host)]
    except subprocess.TimeoutExpired:
        return [*found, _note(host, f"no answer in {remote.timeout:g} s", has_some=bool(found)), *errors.note(host)]
    if not found:
        found.append(_note(host, errors.last_line or f"no logs, exit code {code}"))
    return [*found, *errors.note(host)]


class _Errors:
    """The end of what a host printed as errors, at most MAX_STDERR bytes."""

    def __init__(self) -> None:
        self._size = 0
        self._end = b""

    def add(self, piece: bytes) -> None:
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
        return [Found(None, (), (f"{host.name} printed {self._size} bytes of errors: only the end was read",))]


def _command(folder: str | None) -> str:
    quoted = f'"{FOLDER}"' if folder is None else shlex.quote(folder)
    return f"cd -- {quoted} && exec tar -cf - ."


def _note(host: Host, why: str, *, has_some: bool = False) -> Found:
    what = "were not all read" if has_some else "cannot be read"
    return Found(None, (), (f"the logs of {host.name} {what}: {why}",))


def _pieces(process: subprocess.Popen[bytes], errors: _Errors, end: float) -> Iterator[bytes]:
    """Standard output until its end; `errors` gets what comes beside it, also after it, until the process ends.

    Raises DamagedError if it takes too long, is too much, or at a signal.
    """
    size = 0
    stdout, stderr = process.stdout, process.stderr
    assert stdout is not None
    assert stderr is not None
    streams = [stdout, stderr]
    while stdout in streams or (streams and process.poll() is None):  # a child of ssh may keep stderr open for ever
        left = end - time.monotonic()
        if is_interrupted() or left <= 0:
            raise archives.DamagedError("no answer in time")
        for stream in select(streams, [], [], min(left, POLL))[0]:
            piece = stream.read(archives.PIECE)
            if not piece:
                streams.remove(stream)
            elif stream is stderr:
                errors.add(piece)
            else:
                size += len(piece)
                if size > MAX_BYTES:
                    raise archives.DamagedError(f"more than {MAX_BYTES} bytes")
                yield piece
    if streams and select(streams, [], [], 0)[0]:
        errors.add(stderr.read(archives.PIECE))


def _members(host: Host, pieces: Iterator[bytes]) -> Iterator[Found]:
    for member in archives.members(pieces):
        inside = sources.inside(PurePath("/", host.name.replace("/", "_")), member.name)
        if sources.OF_LOGS.fullmatch(inside.name):
            yield read_log(Log(f"{host.name}:{member.name}", inside, member.changed, archives.unpacked(member.pieces)))
