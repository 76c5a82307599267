"""The rank tables in a folder, recognised by their content."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from hccl_kit.base.bounded_file import read_start
from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import row, system_reason
from hccl_kit.table.formats.kinds import LISTS

MAX_FILES = 100_000
_START = 1 << 16
"""Bytes read of each file: the keys of a table come before what they hold."""
_TOKEN = rb'(?s)"(?:[^"\\]|\\.)*(?:"(?P<is_key>\s*:)?|\\?\Z)|[{}\[\]]'
"""An unterminated string matches up to the end, so nothing after its quote is scanned twice."""
_KEYS = frozenset(f'"{key}"'.encode() for key in LISTS)


def tables_in(folder: str) -> list[str]:
    """The paths of the rank tables in and below `folder`, sorted.

    A table that is not valid JSON counts too. Hidden folders and links to folders are skipped. Raises KitError if there
    is none, a folder cannot be read, or there are more than MAX_FILES files.
    """
    paths = sorted(path for path in _json_files(folder) if is_table(read_start(Path(path), _START)))
    if not paths:
        raise KitError(
            "table.folder-without-tables",
            "cannot read {folder}: it is a folder without rank tables (*.json with {lists})",
            folder=folder,
            lists=row(LISTS),
        )
    return paths


def is_table(start: bytes) -> bool:
    """Whether a document that begins like this has a list of a rank table at its top level."""
    if not any(key in start for key in _KEYS):
        return False
    depth = 0
    for token in re.finditer(_TOKEN, start):
        text = token[0]
        if text in b"{[":
            depth += 1
        elif text in b"}]":
            depth -= 1
        elif depth == 1 and token["is_key"] and text.removesuffix(token["is_key"]) in _KEYS:
            return True
    return False


def _json_files(folder: str) -> Iterator[str]:
    count = 0
    for place, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        count += len(names)
        if count > MAX_FILES:
            raise KitError(
                "table.folder-too-full",
                "{folder} has more than {most} files",
                fix="name a folder with fewer, or the tables",
                folder=folder,
                most=MAX_FILES,
            )
        paths = (os.path.join(place, name) for name in names if name.endswith(".json"))  # noqa: PTH118 - of os.walk
        yield from (path.removeprefix("./") for path in paths if os.path.isfile(path))  # noqa: PTH113


def _refuse(error: OSError) -> None:
    raise KitError(
        "table.folder-unreadable", "cannot read {path}: {reason}", path=error.filename, reason=system_reason(error)
    ) from error
