"""Writing output files: all are checked before the first is written."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from hccl_kit.base.atomic_file import assert_no_device, write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.output_place import assert_can_be_made, assert_takes_files
from hccl_kit.base.terminal import printable, shown
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import row, system_reason

State = Literal["new", "same", "replaceable", "other"]
_MOST_READ = 1 << 20
"""Bytes of a file that may be replaceable; those that we write are smaller."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{1000,}=*")


class OutputFile(NamedTuple):
    """A file to write: its path, its whole text, its permission bits, and which text there may be replaced unasked."""

    path: Path
    text: str
    mode: int = 0o644
    may_replace: Callable[[str], bool] = lambda _: False


def check_folder(folder: Path, *, may_be_new: bool = False) -> None:
    """Raises KitError if tables cannot be written into `folder`, or HCCL would not read one in there (R2, HK008).

    `may_be_new`: it need not exist, since `write_files` creates it.
    """
    (assert_can_be_made if may_be_new else assert_takes_files)(folder, "-o")
    if ".json" in str(folder.resolve()):
        raise KitError(
            "cli.output-files.hk008-contains-json",
            "HK008: {resolve} contains .json, which HCCL takes for the end of a table's path",
            fix="-o names another place",
            resolve=folder.resolve(),
        )


def write_files(files: Sequence[OutputFile], *, force: bool) -> list[str]:
    """Write the files, into folders that are created; returns a line for each.

    Raises KitError if one would be overwritten or cannot be written; files that were not there before are not left.
    """
    states = _states(files)
    _refuse_to_overwrite(states, force=force)
    for folder in dict.fromkeys(file.path.parent for file in files):
        _make(folder)
    made: list[Path] = []
    try:
        for file, state in states:
            if state == "same":
                continue
            is_new = state == "new" and not force  # another program may write one of this name at the same time
            write_atomically(file.path, file.text, mode=file.mode, is_new=is_new)
            if state == "new":
                made.append(file.path)
    except KitError:
        for path in made:
            path.unlink(missing_ok=True)
        raise
    return [printable(_done(file, state)) for file, state in states]


def _done(file: OutputFile, state: State) -> Message:
    if state == "same":
        return Message("cli.output-files.unchanged", "unchanged: {path}", path=file.path)
    if state == "replaceable":
        return Message("cli.output-files.replaced", "replaced: {path}", path=file.path)
    return Message("cli.output-files.wrote", "wrote: {path}", path=file.path)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KitError(
            "cli.output-files.cannot-create-folder",
            "cannot create the folder {folder}: {reason}",
            folder=folder,
            reason=system_reason(error),
        ) from error


def show_files(files: Sequence[OutputFile], *, force: bool) -> None:
    """Print what `write_files` would write, without what is in Base64. Raises KitError if it would."""
    states = _states(files)
    for file, state in states:
        text = _BASE64.sub(lambda match: f"[{len(match[0])} characters of Base64]", file.text.rstrip())
        would = Message("cli.output-files.would-write", "would write: {path}", path=file.path)
        print(f"{translated(_done(file, state) if state == 'same' else would)}\n{shown(text)}\n")
    _refuse_to_overwrite(states, force=force)


def _refuse_to_overwrite(states: Sequence[tuple[OutputFile, State]], *, force: bool) -> None:
    others = [str(file.path) for file, state in states if state == "other"]
    if others and not force:
        verb, pronoun = ("exists", "it") if len(others) == 1 else ("exist", "them")
        raise KitError(
            "cli.output-files.content",
            "{others} {verb} with other content",
            fix="--force overwrites {pronoun}, or write to another folder",
            others=row(others),
            verb=verb,
            pronoun=pronoun,
        )


def _states(files: Sequence[OutputFile]) -> list[tuple[OutputFile, State]]:
    """The files with what is there now. Raises KitError if two of them have one name."""
    places = set()
    for file in files:
        place = os.path.realpath(file.path)
        if place in places:
            raise KitError(
                "cli.output-files.named-two-outputs",
                "{path} is named for two outputs",
                fix="name another file for one of them",
                path=file.path,
            )
        places.add(place)
    return [(file, _state(file)) for file in files]


def _state(file: OutputFile) -> State:
    """Whether the file exists, with this text or another. Raises KitError if it is not a file or cannot be read."""
    if not os.path.lexists(file.path):
        return "new"
    data = file.text.encode()
    try:
        assert_no_device(file.path)
        if not file.path.is_file() or file.path.stat().st_size > max(_MOST_READ, len(data)):
            return "other"
        there = file.path.read_bytes()
    except OSError as error:
        raise KitError(
            "cli.output-files.cannot-read", "cannot read {path}: {reason}", path=file.path, reason=system_reason(error)
        ) from error
    if there == data:
        return "same"
    return "replaceable" if file.may_replace(there.decode(errors="replace")) else "other"
