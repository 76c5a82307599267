"""A rank table that a platform writes while the ranks start: ModelArts, or Kubernetes with a mounted folder.

RANK_TABLE_FILE may be a folder (on ModelArts /user/config), the status may still be `initializing`, and the table may
be of template 2, which is converted to version 1.0 for HCCL and MindSpore.

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
from hccl_kit.table.formats import kinds
from hccl_kit.table.model import RankTable, Server
from hccl_kit.table.reading import MOUNTED
from hccl_kit.table.source import MAX_BYTES

LIMIT = 1800
"""Seconds until the table must be completed; HCCL waits as long."""
POLL, LOG_INTERVAL, SETTLE = 0.5, 60.0, 10.0
"""Seconds between two reads, between two log messages, and until a broken file counts as an error."""


class PlatformTable(NamedTuple):
    """A completed table, its bytes as the platform wrote them, and a file that HCCL can read."""

    table: RankTable
    data: bytes
    path: Path


def _log(text: str) -> None:
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


class Clock(NamedTuple):
    """Time in seconds, sleep, and the log of a wait; tests replace them."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    log: Callable[[str], None] = _log


CLOCK = Clock()


def wait_for_table(given: Path, environ: Mapping[str, str], clock: Clock = CLOCK) -> PlatformTable:
    """The table at `given`, a file or a folder, as soon as it is completed.

    Raises KitError if it is not completed in time, or is not a supported rank table.
    """
    path, value, data = _wait(given, parse_integer(TABLE_TIMEOUT, environ.get(TABLE_TIMEOUT) or str(LIMIT)), clock)
    kind = kinds.recognise(value)
    has_servers = kind in (kinds.SERVER_LIST, kinds.SUPER_PODS, kinds.TEMPLATE_2, kinds.TEMPLATE_2_LAB)
    table = formats.read(value, kind) if kind and has_servers else None
    if not isinstance(table, RankTable):
        raise KitError(
            "runtime.not-a-table",
            "{path} is not a rank table that this program reads",
            fix="hccl-check {path}",
            path=path,
        )
    return PlatformTable(table, data, path.resolve() if table.version else _as_version_1(table))


def check_size(size: int, table: RankTable, path: Path) -> None:
    """Raise KitError if RANK_SIZE is not the number of ranks of the table."""
    if size != table.world_size:
        raise KitError(
            "runtime.other-size",
            "RANK_SIZE={size}, but {path} has {ranks} ranks",
            fix="export the size of the table, or point RANK_TABLE_FILE at the table of this job",
            size=size,
            path=path,
            ranks=table.world_size,
        )


def no_such_rank(rank: int, table: RankTable, path: Path) -> KitError:
    return KitError(
        "runtime.no-rank",
        "RANK_ID={rank} is not in {path}, which has ranks 0..{last}",
        rank=rank,
        path=path,
        last=table.world_size - 1,
    )


def _wait(given: Path, limit: float, clock: Clock) -> tuple[Path, Any, bytes]:
    """The file, its value and its bytes when it is complete.

    A file that the user names must exist and be JSON. In a folder, or after the status `initializing`, it may be
    missing or broken for a moment: the writer may not be atomic.
    """
    start = logged = usable = clock.now()
    is_being_written = given.is_dir()
    while True:
        path, value, data, state = _read(given)
        now = clock.now()
        if state == kinds.INITIALIZING:
            is_being_written, usable = True, now
        elif data is not None and (not state or not is_being_written or now - usable > SETTLE):
            return path, value, data
        elif not is_being_written or now - usable > SETTLE:
            raise KitError(
                "runtime.table-state",
                "{variable}: {state}",
                fix="hccl-gen writes a rank table",
                variable=RANK_TABLE_FILE,
                state=state,
            )
        if now - start >= limit:
            raise KitError(
                "runtime.table-not-completed",
                "the rank table {path} is not completed after {seconds:.0f} s: {state}",
                fix="check that all containers of the job run, or increase the limit: {variable}=SECONDS",
                path=path,
                seconds=limit,
                state=state,
                variable=TABLE_TIMEOUT,
            )
        if now - logged >= LOG_INTERVAL:
            clock.log(f"waiting for the rank table {path} to be completed: {state}")
            logged = now
        clock.sleep(POLL)


def _read(given: Path) -> tuple[Path, Any, bytes | None, str]:
    """The file, its value, its bytes (None: it cannot be read), and the reason why it is not ready, or ""."""
    names = [given / name for name in MOUNTED] if given.is_dir() else [given]
    path = next((name for name in names if name.exists()), names[0])
    try:
        data = read_bounded(path, MAX_BYTES)
    except KitError as error:
        return path, None, None, error.message
    value = document.parse(data, str(path)).value
    if value is None:
        return path, None, data, f"{path} is not JSON"
    return path, value, data, kinds.INITIALIZING if kinds.is_unfinished(value, kinds.recognise(value)) else ""


def _as_version_1(table: RankTable) -> Path:
    """A copy of a table of template 2 as version 1.0, removed when this process ends."""
    servers = tuple(Server(server.id, server.devices) for server in table.servers)
    text = formats.write(RankTable("1.0", "completed", servers, declared_servers=len(servers)))
    folder = tempfile.mkdtemp(prefix="hccl_kit_table_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "hccl.json")
    path.write_text(text, encoding="utf-8")
    return path
