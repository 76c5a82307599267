"""Output paths are checked before long work starts, and existing files are not overwritten without --force."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import row, system_reason

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")


def assert_takes_file(path: Path, option: str) -> None:
    """Raises KitError if a file cannot be written at `path`, which may exist; `option` names it on the command line."""
    assert_takes_files(path.parent, option)
    if not os.path.lexists(path) or path.is_file():
        return
    if path.is_dir():
        raise KitError("base.output-folder", "{option}: {path} is a folder", hint=_A_FILE, option=option, path=path)
    raise KitError(
        "base.output-not-regular", "{option}: {path} is not a regular file", hint=_A_FILE, option=option, path=path
    )


_A_FILE = Message("base.output-not-a-file.fix", "name a file to write")


def assert_free_files(paths: Sequence[Path], option: str, *, force: bool) -> None:
    """Raises KitError for the reasons of `assert_takes_file`, or if a file exists and `force` is false."""
    for path in paths:
        assert_takes_file(path, option)
    _assert_not_taken([path for path in paths if os.path.lexists(path)], option, force=force)


def assert_free_picture(path: Path, option: str, *, force: bool) -> None:
    """Raises KitError if the name does not end in one of PICTURES, or for the reasons of `assert_free_files`."""
    if path.suffix.lower() not in PICTURES:
        raise KitError(
            "base.picture-suffix",
            "{option} {path}: accepted: names that end in {suffixes}",
            option=option,
            path=path,
            suffixes=" ".join(PICTURES),
        )
    assert_free_files([path], option, force=force)


def assert_free_folder(folder: Path, option: str, *, force: bool) -> None:
    """Raises KitError if `folder` is not writable, cannot be created, or is not empty and `force` is false.

    A new one is not called like a picture: that would be a file.
    """
    if folder.suffix.lower() in PICTURES and not folder.is_dir():
        raise KitError(
            "base.output-picture",
            "{option} {folder} is the name of a picture; accepted: a folder, since several files are written",
            fix="{option} {name}",
            option=option,
            folder=folder,
            name=shlex.quote(str(folder.with_suffix(""))),
        )
    assert_can_be_made(folder, option)
    try:
        holds_files = os.path.lexists(folder) and any(folder.iterdir())
    except OSError as error:
        raise KitError(
            "base.output-folder-unreadable",
            "{option}: cannot read {folder}: {reason}",
            option=option,
            folder=folder,
            reason=system_reason(error),
        ) from error
    _assert_not_taken([folder] if holds_files else [], option, force=force)


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A temporary folder whose files are moved to `folder` when the block ends; if the block fails, it is removed.

    Files of the same name are replaced, others stay. Raises KitError if `folder` is not writable.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.", suffix=".tmp") as temporary:
            yield Path(temporary)
            folder.mkdir(exist_ok=True)
            for path in Path(temporary).iterdir():
                path.replace(folder / path.name)
    except OSError as error:
        if isinstance(error.filename, str) and not _is_beside(Path(error.filename), folder):
            raise  # an error of a file that the block reads
        raise KitError(
            "base.folder-not-writable",
            "cannot write into {folder}: {reason}",
            folder=folder,
            reason=system_reason(error),
        ) from error


def _is_beside(path: Path, folder: Path) -> bool:
    return path.absolute().is_relative_to(folder.absolute().parent)


def _assert_not_taken(taken: list[Path], option: str, *, force: bool) -> None:
    if taken and not force:
        raise KitError(
            "base.output-taken",
            "{option}: {paths} already exists",
            fix="--force overwrites it, or write elsewhere",
            option=option,
            paths=row(map(str, taken)),
        )


def assert_can_be_made(folder: Path, option: str) -> None:
    """Raises KitError if neither `folder` nor, without it, a new one in its place takes files."""
    assert_takes_files(next(place for place in (folder, *folder.absolute().parents) if _is_there(place)), option)


def assert_takes_files(folder: Path, option: str) -> None:
    """Raises KitError if no file can be created in `folder`."""
    if not _is_there(folder):
        raise KitError(
            "base.output-folder-absent",
            "{option}: the folder {folder} does not exist",
            hint=Message("base.output-folder-absent.fix", "mkdir -p {folder}", folder=shlex.quote(str(folder))),
            option=option,
            folder=folder,
        )
    try:
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise KitError(
            "base.output-folder-not-writable",
            "{option}: cannot write into {folder}: {reason}",
            option=option,
            folder=folder,
            reason=system_reason(error),
        ) from error


def _is_there(folder: Path) -> bool:
    """Whether there may be something of this name: writing tells why one that cannot be looked at takes no files."""
    try:
        folder.lstat()
    except OSError as error:
        return not isinstance(error, (FileNotFoundError, NotADirectoryError))
    return True
