"""The last step of what writes files: all are looked at before one is written."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError

State = Literal["new", "same", "other"]


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file to be: its place, its whole text, its permission bits."""

    path: Path
    text: str
    mode: int = 0o644


def check_folder(folder: Path) -> None:
    """Raises KitError if tables cannot be written into `folder`, or HCCL would not read one there (R2, HK008)."""
    check_writable(folder)
    if ".json" in str(folder.resolve()):
        raise KitError(
            f"HK008: {folder.resolve()} contains .json, which HCCL takes for the end of a table's path",
            hint="write to another folder",
        )


def check_file(path: Path) -> None:
    """Raises KitError if a file cannot be written at `path`; asked before the work that makes its content."""
    check_writable(path.parent)
    if path.is_dir():
        raise KitError(f"{path} is a folder, a file of that name cannot be written")


def check_writable(folder: Path) -> None:
    """Raises KitError if no file can be made in `folder`."""
    try:
        is_folder, is_there = folder.is_dir(), folder.exists()
    except (OSError, ValueError) as error:  # ValueError: a NUL character
        raise KitError(f"cannot write to {folder}: {getattr(error, 'strerror', None) or error}") from error
    if not is_folder:
        raise KitError(f"{folder} is not a folder", hint=None if is_there else f"mkdir -p {shlex.quote(str(folder))}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise KitError(f"cannot write to {folder}: permission denied, or a read-only file system")


def write_files(files: Sequence[OutputFile], *, force: bool) -> list[str]:
    """Write what is not there yet; a line to print for each. KitError, and nothing written, if one holds other text."""
    states = [(file, _state(file)) for file in files]
    _refuse_to_overwrite(states, force=force)
    for file, state in states:
        if state != "same":
            write_atomically(file.path, file.text, mode=file.mode)
    return [f"{'unchanged' if state == 'same' else 'wrote'}: {file.path}" for file, state in states]


def show_files(files: Sequence[OutputFile], *, force: bool) -> None:
    """Print what `write_files` would write; KitError where it would refuse."""
    states = [(file, _state(file)) for file in files]
    for file, state in states:
        print(f"{'unchanged' if state == 'same' else 'would write'}: {file.path}\n{file.text.rstrip()}\n")
    _refuse_to_overwrite(states, force=force)


def _refuse_to_overwrite(states: Sequence[tuple[OutputFile, State]], *, force: bool) -> None:
    other = ", ".join(str(file.path) for file, state in states if state == "other")
    if other and not force:
        raise KitError(f"{other} exists and holds something else", hint="--force overwrites it, or write elsewhere")


def _state(file: OutputFile) -> State:
    """How the place of `file` looks now; KitError where it is no place for a file."""
    if not os.path.lexists(file.path):
        return "new"
    data = file.text.encode()
    try:
        if file.path.is_dir():
            raise KitError(f"{file.path} is a folder, a file of that name cannot be written")
        # The size first: a large file of that name is not read to learn that it differs.
        same = file.path.is_file() and file.path.stat().st_size == len(data) and file.path.read_bytes() == data
    except OSError as error:
        raise KitError(f"cannot read {file.path}: {error.strerror}") from error
    return "same" if same else "other"
