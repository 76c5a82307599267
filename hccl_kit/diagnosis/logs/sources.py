"""Find the logs in what the user names: files, folders, archives. Reading never leaves a folder and never blocks.

Links are not followed, and only regular files are opened (no pipe, device or socket).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import NamedTuple

from hccl_kit.base.bounded_file import NOT_REGULAR, PIPE_IT_IN, is_of_shell, open_regular
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted, system_reason
from hccl_kit.diagnosis.logs import torch_dump
from hccl_kit.diagnosis.logs.archives import PIECE

MAX_FILES = 100_000
MAX_DEPTH = 40
"""Maximum nesting of folders."""

OF_LOGS = re.compile(
    r".*\.(?:log|out|err|txt|jsonl)(?:\.[0-9]{1,4})?(?:\.(?:gz|xz))?|.*\.(?:tar|tgz|txz)|.*\.tar\.(?:gz|xz)"
    r"|stdout|stderr|dmesg|messages|syslog|(?:step|launcher)_[0-9]{1,8}|error_[0-9]{1,8}\.json"
    rf"|{torch_dump.NAME.pattern}",
    re.DOTALL,
)
"""Names of files that are read when a folder is given. A file that the user names is always read."""


class Given(NamedTuple):
    """A file to read: its path, size, time of change, and whether it was found in a folder."""

    path: Path
    size: int
    changed: float | None
    is_found: bool


class Listing(NamedTuple):
    """The files in what was given, and what was left out."""

    files: tuple[Given, ...]
    notes: tuple[str, ...]


def listing(paths: Sequence[Path]) -> Listing:
    """The files in files and folders, each once, in the order of names. Raises KitError if a path is not there."""
    files: dict[Path, Given] = {}
    notes: list[str] = []
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            raise KitError(cannot_read(path, system_reason(error))) from error
        except ValueError as error:  # a NUL character
            raise KitError(cannot_read(path, str(error))) from error
        logs = _in_folder(path, notes) if stat.S_ISDIR(mode) else _named(path)
        for log in logs:
            if len(files) == MAX_FILES:
                notes.append(Message("diagnosis.many-files", "only the first {most} files are read", most=MAX_FILES))
                break
            files.setdefault(log.path.absolute(), log)
    return Listing(tuple(files.values()), tuple(notes))


def _named(path: Path) -> Iterator[Given]:
    if not (path.is_file() or is_of_shell(path)):
        raise KitError(cannot_read(path, NOT_REGULAR), hint=PIPE_IT_IN)
    state = path.stat()
    yield Given(path, state.st_size, state.st_mtime, False)


def _in_folder(top: Path, notes: list[str]) -> Iterator[Given]:
    """The logs below a folder, sorted by name."""
    taken = left_out = links = 0
    folders = [(top, 0)]
    while folders:
        folder, depth = folders.pop()
        try:
            with os.scandir(folder) as entries:
                names = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            reason = system_reason(error)
            notes.append(
                Message(
                    "diagnosis.no-folder", "cannot read the folder {folder}: {reason}", folder=folder, reason=reason
                )
            )
            continue
        below = []
        for entry in names:
            try:
                if entry.is_symlink():
                    links += 1
                elif entry.is_dir(follow_symlinks=False):
                    below.append((Path(entry.path), depth + 1))
                elif entry.is_file(follow_symlinks=False) and OF_LOGS.fullmatch(entry.name):
                    state = entry.stat(follow_symlinks=False)
                    taken += 1
                    yield Given(Path(entry.path), state.st_size, state.st_mtime, True)
                else:
                    left_out += 1
            except OSError as error:
                notes.append(cannot_read(entry.path, system_reason(error)))
        if depth < MAX_DEPTH:
            folders += reversed(below)
        elif below:
            notes.append(
                Message(
                    "diagnosis.too-deep",
                    "{folder} is {depth} folders deep: what is below is not read",
                    folder=folder,
                    depth=MAX_DEPTH,
                )
            )
    if links:
        number = counted(links, "symbolic link")
        notes.append(Message("diagnosis.links", "{links} in {folder}: not followed", links=number, folder=top))
    if left_out and not taken:
        number = counted(left_out, "file")
        notes.append(
            Message("diagnosis.no-logs", "{files} in {folder}, none named like a log", files=number, folder=top)
        )


@contextmanager
def opened(given: Given) -> Iterator[int]:
    """The descriptor of a file, open for reading. Raises OSError if it cannot be opened."""
    descriptor = open_regular(given.path, follows=not given.is_found)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def pieces_of(descriptor: int) -> Iterator[bytes]:
    """The bytes of an open file. Raises OSError if it cannot be read."""
    while piece := os.read(descriptor, PIECE):
        yield piece


def cannot_read(path: object, reason: str) -> Message:
    """That a file cannot be read, and why."""
    return Message("diagnosis.cannot-read", "cannot read {path}: {reason}", path=path, reason=reason)


def why(error: Exception) -> str:
    """Why a file cannot be read."""
    return system_reason(error) if isinstance(error, OSError) else str(error)


def inside(archive: PurePath, member: str) -> PurePath:
    """The path of a member as if its archive were a folder; nothing is opened by it."""
    parts = [part for part in PurePath(member).parts if part not in ("/", "..", ".")]
    return PurePath(archive, *parts)
