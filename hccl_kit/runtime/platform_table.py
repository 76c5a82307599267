"""A rank table that a platform writes while the ranks start already: ModelArts, or Kubernetes with a mounted folder.

RANK_TABLE_FILE may be a folder (on ModelArts /user/config), the status may still be `initializing`, and the table may
be of template 2, from which a copy of version 1.0 is made for HCCL and for MindSpore.

Source: ModelArts user guide (2025), format of jobstart_hccl.json; Ascend Operator of mind-cluster (2026), hccl.json.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.base.integer import parse_integer
from hccl_kit.base.terminal import printable
from hccl_kit.runtime.worker_env import RANK_TABLE_FILE, TABLE_TIMEOUT
from hccl_kit.table import document, formats
from hccl_kit.table.formats.kinds import INITIALIZING, is_unfinished
from hccl_kit.table.model import RankTable, Server

IN_FOLDER = ("jobstart_hccl.json", "hccl.json")
"""The files of a folder: that of ModelArts, and that of the Ascend Operator."""
LIMIT = 1800
"""Seconds that a table may take to be completed; HCCL itself would wait as long."""
LOOK, SAY, SETTLE = 0.5, 60.0, 10.0
"""Seconds between two looks, between two words about it, and after which a broken file is not one being written."""


class Published(NamedTuple):
    """A table that is completed, its bytes as the platform wrote them, and the file that HCCL can read."""

    table: RankTable
    data: bytes
    path: Path


def _say(text: str) -> None:
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


class Clock(NamedTuple):
    """Seconds, how to let some pass, and how to say what is waited for."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = _say


CLOCK = Clock()


def published(given: Path, environ: Mapping[str, str], clock: Clock = CLOCK) -> Published:
    """The table at `given`, a file or a folder, as soon as it is completed.

    KitError where it is not in time, and where it is none that this program reads.
    """
    path, value, data = _wait(given, parse_integer(TABLE_TIMEOUT, environ.get(TABLE_TIMEOUT) or str(LIMIT)), clock)
    kind = formats.recognise(value)
    has_servers = kind in (formats.SERVER_LIST, formats.SUPER_PODS, formats.TEMPLATE_2, formats.TEMPLATE_2_LAB)
    table = formats.read(value, kind) if kind and has_servers else None
    if not isinstance(table, RankTable):
        raise KitError(f"{path} is not a rank table that this program reads", hint=f"hccl-check {path}")
    return Published(table, data, path.resolve() if table.version else _as_version_1(table))


def _wait(given: Path, limit: float, clock: Clock) -> tuple[Path, Any, bytes]:
    """The file, its value and its bytes when it is no longer being made.

    A file that is named must be there at once, and be JSON. In a folder, or after it was `initializing`, it may be
    missing or broken for a moment: whoever writes it need not do it at one go.
    """
    start = said = sound = clock.now()
    is_made = given.is_dir()
    while True:
        path, value, data, state = _look(given)
        now = clock.now()
        if state == INITIALIZING:
            is_made, sound = True, now
        elif data is not None and (not state or not is_made or now - sound > SETTLE):
            return path, value, data
        elif not is_made or now - sound > SETTLE:
            raise KitError(f"{RANK_TABLE_FILE}: {state}", hint="hccl-gen writes a rank table")
        if now - start >= limit:
            raise KitError(
                f"the rank table {path} is not completed after {limit:.0f} s: {state}",
                hint=f"look whether all containers of the job run, or wait longer: {TABLE_TIMEOUT}=SECONDS",
            )
        if now - said >= SAY:
            clock.say(f"waiting for the rank table {path} to be completed: {state}")
            said = now
        clock.sleep(LOOK)


def _look(given: Path) -> tuple[Path, Any, bytes | None, str]:
    """The file, its value, its bytes (None: it cannot be read), and what is the matter with it; "" where nothing is."""
    names = [given / name for name in IN_FOLDER] if given.is_dir() else [given]
    path = next((name for name in names if name.exists()), names[0])
    try:
        data = read_bounded(path, document.MAX_BYTES)
    except KitError as error:
        return path, None, None, error.message
    value = document.parse(data, str(path)).value
    if value is None:
        return path, None, data, f"{path} is no JSON"
    return path, value, data, INITIALIZING if is_unfinished(value, formats.recognise(value)) else ""


def _as_version_1(table: RankTable) -> Path:
    """A copy of a table of template 2, for this process and while it lives."""
    servers = tuple(Server(server.id, server.devices) for server in table.servers)
    text = formats.write(RankTable("1.0", "completed", servers, declared_servers=len(servers)))
    folder = tempfile.mkdtemp(prefix="hccl_kit_table_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "hccl.json")
    path.write_text(text, encoding="utf-8")
    return path
