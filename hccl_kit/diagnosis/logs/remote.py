"""Read the logs of other hosts over ssh: each sends a tar archive, which is read as it comes and never written.

A host is not trusted: what it sends is limited in size and time. One that does not answer is a note. The command there
only reads: `tar` of one folder.
"""

from __future__ import annotations

import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePath
from select import select
from typing import IO, NamedTuple

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
    with tempfile.TemporaryFile() as stderr:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            return [_note(host, f"{command[0]} cannot be started: {error.strerror}")]
        try:
            with killed_on_error(process):
                assert process.stdout is not None
                end = time.monotonic() + remote.timeout
                for one in _members(host, _pieces(process.stdout, end)):
                    found.append(one)
                code = wait(process, end)
        except (archives.DamagedError, OSError) as error:
            return [*found, _note(host, str(error), has_some=bool(found))]
        except subprocess.TimeoutExpired:
            return [*found, _note(host, f"no answer in {remote.timeout:g} s", has_some=bool(found))]
        if not found:
            return [_note(host, _last_line(stderr) or f"no logs, exit code {code}")]
    return found


def _command(folder: str | None) -> str:
    quoted = f'"{FOLDER}"' if folder is None else shlex.quote(folder)
    return f"cd -- {quoted} && exec tar -cf - ."


def _note(host: Host, why: str, *, has_some: bool = False) -> Found:
    what = "were not all read" if has_some else "cannot be read"
    return Found(None, (), (f"the logs of {host.name} {what}: {why}",))


def _pieces(stream: IO[bytes], end: float) -> Iterator[bytes]:
    """What comes until the end of the stream. Raises DamagedError if it takes too long, is too much, or at a signal."""
    size = 0
    while not is_interrupted() and (left := end - time.monotonic()) > 0:
        if not select([stream], [], [], min(left, POLL))[0]:
            continue
        piece = stream.read(archives.PIECE)
        if not piece:
            return
        size += len(piece)
        if size > MAX_BYTES:
            raise archives.DamagedError(f"more than {MAX_BYTES} bytes")
        yield piece
    raise archives.DamagedError("no answer in time")


def _members(host: Host, pieces: Iterator[bytes]) -> Iterator[Found]:
    for member in archives.members(pieces):
        inside = sources.inside(PurePath("/", host.name.replace("/", "_")), member.name)
        if sources.OF_LOGS.fullmatch(inside.name):
            yield read_log(Log(f"{host.name}:{member.name}", inside, member.changed, archives.unpacked(member.pieces)))


def _last_line(stderr: IO[bytes]) -> str:
    stderr.seek(0)
    lines = stderr.read(MAX_STDERR).decode("utf-8", "replace").strip().split("\n")
    return excerpt(lines[-1]) if lines[-1] else ""
