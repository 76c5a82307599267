"""Fetches the logs of a job from its servers over ssh.

A server is not trusted: it sends a tar archive, of which only the logs of the run are written, in the log folder, and
nothing is overwritten. Part of programs that launch scripts contain.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import IO

from hccl_kit.launch.payload.ssh_command import Node, ssh_command, write

MAX_LOG = 2 << 30
"""Bytes of a log."""
MAX_LOGS = 32 << 30
"""Bytes that are read from a server."""
MAX_ENTRIES = 10_000
"""Files and folders in the archive of a server."""
MAX_FETCHES = 32
"""Servers whose logs are fetched at a time."""
FETCH_TIMEOUT = 600
"""Seconds that the logs of a server may take."""
LOG = re.compile(
    rb"(?:\./)?((?:restart_[0-9]{1,7}/)?)"
    rb"(?:(plog/\w[\w.-]{0,39}/(?:debug|run)/(?:plog|device-[0-9]{1,3})/)((?:plog|device)-[0-9]{1,10}_[0-9]{1,20}\.log)"
    rb"|(rank_[0-9]{1,7}\.log(?:\.1)?|error_[0-9]{1,7}\.json|step_[0-9]{1,7}|facts_[0-9]{1,7}\.jsonl|failed"
    rb"|launcher_[0-9]{1,7}|(?:hccl|torch)_trace_rank_[0-9]{1,7}(?:\.json)?))"
)
"""The files of a run that are fetched: folder of the restart, of plogs, name of a plog or name of another file."""
BLOCK = 512
"""Bytes of a block of an archive."""
MARK = ".started-here"
"""A file in the log folder of this host; a server that sees it has the same disk."""


def fetch_all(nodes: Sequence[Node], folder: Path) -> None:
    """Fetch the logs of all servers into `folder`; errors are printed."""
    if len(nodes) > MAX_FETCHES:
        write(2, f"fetching the logs of {len(nodes)} servers into {folder}\n".encode())
    pool = ThreadPoolExecutor(MAX_FETCHES)
    for node, fetched in zip(nodes, [pool.submit(fetch, node, folder) for node in nodes]):  # noqa: B905 - 3.8
        try:
            fetched.result()
        except FileNotFoundError:
            pass  # ssh is missing, which was reported, or the user removed this folder
        except (OSError, ValueError) as why:
            write(2, f"note: not all logs of server {node.name!r} were fetched: {why}\n".encode())


def fetch(node: Node, folder: Path) -> None:
    """Fetch the logs of a server into `folder`, unless the server sees MARK there. Raises ValueError for bad data."""
    command = f"cd {shlex.quote(str(folder))} 2>/dev/null && ! test -e {MARK} && exec tar -cf - ."
    target = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        with subprocess.Popen(
            [*ssh_command(node), command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout
            timeout = Timer(FETCH_TIMEOUT, process.kill)
            timeout.start()
            try:
                unpack(process.stdout, target)
            finally:
                timeout.cancel()
                process.kill()
    finally:
        os.close(target)


def unpack(archive: IO[bytes], target: int) -> None:
    """Write the logs in a tar archive to the folder with the descriptor `target`. Raises ValueError for bad data.

    The standard library would accept links, devices and any name, and allocate the memory that a header asks for.
    Here existing files are kept, and links are not followed.
    """
    left = MAX_LOGS
    for number in range(MAX_ENTRIES + 1):
        header = archive.read(BLOCK)
        if header == bytes(BLOCK) or not (header or number):
            return
        if number == MAX_ENTRIES:
            raise ValueError(f"it has more than {MAX_ENTRIES} files")
        size, found = size_of(header), LOG.fullmatch(name_of(header))
        left -= size
        if size > MAX_LOG or left < 0:
            raise ValueError(f"a log is larger than {MAX_LOG} bytes, or all together than {MAX_LOGS}")
        if found and header[156:157] in (b"0", b"\0"):
            folder = folder_in(target, found[1] + (found[2] or b""))
            try:
                save(archive, size, folder, found[3] or found[4])
            finally:
                os.close(folder)
        else:
            copy(archive, size, None)
        copy(archive, -size % BLOCK, None)


def size_of(header: bytes) -> int:
    """The number of bytes that follow a header."""
    plain = header[:148] + b" " * 8 + header[156:]
    checksum, size = (re.fullmatch(rb" *([0-7]{1,12})[ \0]*", header[at]) for at in (slice(148, 156), slice(124, 136)))
    if len(header) < BLOCK or not checksum or int(checksum[1], 8) != sum(plain) or not size:
        raise ValueError("the archive is damaged")
    return int(size[1], 8)


def name_of(header: bytes) -> bytes:
    """The name in a header; logs have no long names, which are in another field."""
    name, prefix = header[:100].split(b"\0")[0], header[345:500] if header[257:263] == b"ustar\0" else b""
    return b"" if prefix.strip(b"\0") else name


def folder_in(target: int, path: bytes) -> int:
    """A descriptor of the folder `path` in `target`, made if it is not there; of `target` if it is empty."""
    found = os.dup(target)
    for name in path.split(b"/")[:-1]:
        outer = found
        try:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=outer)
            found = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=outer)
        finally:
            os.close(outer)
    return found


def save(archive: IO[bytes], size: int, folder: int, name: bytes) -> None:
    """Write a file to a folder, unless it exists."""
    try:
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=folder)
    except FileExistsError:
        copy(archive, size, None)
        return
    try:
        copy(archive, size, file)
    except (OSError, ValueError):
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(file)


def copy(archive: IO[bytes], size: int, file: int | None) -> None:
    """Copy bytes of an archive to a file; skip them if it is None."""
    while size > 0:
        piece = archive.read(min(size, 1 << 20))
        if not piece:
            raise ValueError("the archive is truncated")
        size -= len(piece)
        while file is not None and piece:
            piece = piece[os.write(file, piece) :]
