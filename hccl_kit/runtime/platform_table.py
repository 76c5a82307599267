"""A rank table that a platform writes while the ranks start: ModelArts, or Kubernetes with a mounted folder.

RANK_TABLE_FILE may be a folder (on ModelArts /user/config), the status may still be `initializing`, and the table may
be of template 2, which is converted to version 1.0 for HCCL and MindSpore.

ModelArts starts a program once for each card (its own images: RANK_ID, RANK_SIZE and ASCEND_DEVICE_ID are set) or once
for a container (images of users). In a container, cards count from 0, whatever their physical ids are.

Sources: ModelArts user guide (2025), format of jobstart_hccl.json, environment variables of a training container, boot
file of a preset image; Ascend Operator of mind-cluster (2026), hccl.json.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.base.integer import parse_integer
from hccl_kit.base.message import Message
from hccl_kit.base.network import LOOPBACK, port_of_digest
from hccl_kit.base.terminal import printable
from hccl_kit.base.wording import listed
from hccl_kit.runtime.worker_env import RANK_TABLE_FILE, TABLE_TIMEOUT, WorkerEnv, consistent, integer
from hccl_kit.table import document, formats
from hccl_kit.table.formats import kinds
from hccl_kit.table.model import Device, RankTable, Server
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


TASK_INDEX = "VC_TASK_INDEX"
"""The index of this container, set by ModelArts and Volcano."""
_PODS = ("MA_CURRENT_INSTANCE_NAME", "BATCH_TASK_CURRENT_INSTANCE", "POD_NAME", "HOSTNAME")
"""The name of this container, the most reliable first."""
_HOSTS = ("MA_CURRENT_HOST_IP", "MA_CURRENT_IP", "XDL_IP", "POD_IP")
"""The address of its host."""
_CARDS = ("ASCEND_DEVICE_ID", "DEVICE_ID")
"""The card of a process in its container, from 0."""


def modelarts_env(environ: Mapping[str, str], clock: Clock = CLOCK) -> WorkerEnv:
    """This process as a worker, from the variables of the platform and its rank table.

    Raises KitError if the variables contradict the table, or do not determine the card of this process.
    """
    table, data, path = wait_for_table(Path(consistent(environ, (RANK_TABLE_FILE,))), environ, clock)
    if environ.get("RANK_SIZE"):
        check_size(integer(environ, "size"), table, path)
    if environ.get("RANK_ID"):
        rank = integer(environ, "rank")
        held = next((held for _, held in _containers(table) if rank in [device.rank for device in held]), ())
        if not held:
            raise no_such_rank(rank, table, path)
    else:
        held = _own(table, environ)
        rank = _card(held, environ).rank
    ranks, cards = sorted(device.rank for device in held), sorted(device.id for device in held)
    one_server = len(table.servers) == 1
    return WorkerEnv(
        rank=rank,
        size=table.world_size,
        local_rank=ranks.index(rank),
        local_size=len(held),
        device=next(cards.index(device.id) for device in held if device.rank == rank),
        master_addr=environ.get("MASTER_ADDR") or (LOOPBACK if one_server else table.by_rank()[0][0].id),
        master_port=(
            integer(environ, "master_port")
            if environ.get("MASTER_PORT")
            else port_of_digest(hashlib.sha256(data).hexdigest())
        ),
        table=str(path),
    )


def _containers(table: RankTable) -> Iterator[tuple[tuple[str, ...], tuple[Device, ...]]]:
    """The possible names and the devices of every container. In the lab form it is a whole server."""
    pods = [instance for group in table.groups for instance in group.instances if instance.pod]
    if pods:
        yield from (((pod.pod or "", pod.server), pod.devices) for pod in pods)
    else:
        names = ("host_ip", "container_ip")
        yield from (
            ((server.id, *(str(server.extra[name]) for name in names if name in server.extra)), server.devices)
            for server in table.servers
        )


def _own(table: RankTable, environ: Mapping[str, str]) -> tuple[Device, ...]:
    """The devices of this container, found by its name, or by its host, which it may share."""
    held = list(_containers(table))
    if len(held) == 1:
        return held[0][1]
    known = [environ[name] for name in (*_PODS, *_HOSTS) if environ.get(name)]
    for here in [*known, *_addresses()]:
        matches = [devices for names, devices in held if here in names]
        if len(matches) == 1:
            return matches[0]
    raise KitError(
        "runtime.container",
        "this container is not in the rank table: {container}, the table has {names}",
        fix="export RANK_ID for every process, or MA_CURRENT_INSTANCE_NAME: the name of this container in the table",
        container=_container(known),
        names=listed(names[0] for names, _ in held),
    )


def _container(names: Sequence[str]) -> Message:
    if names:
        return Message("runtime.container-names", "it is {names}", names=listed(names))
    return Message("runtime.container-without-name", "its name is unknown")


def _addresses() -> list[str]:
    with suppress(OSError):
        return sorted({str(place[4][0]) for place in socket.getaddrinfo(socket.gethostname(), None)})
    return []


def _card(devices: tuple[Device, ...], environ: Mapping[str, str]) -> Device:
    """The card of this process among those of its container."""
    cards = sorted(devices, key=lambda device: device.id)
    name = next((name for name in _CARDS if environ.get(name)), None)
    if name is None:
        if len(cards) == 1:
            return cards[0]
        raise KitError(
            "runtime.one-process",
            "this container has {cards} cards, but was started once, and no variable names the card of a process",
            fix="start one process for each card: hccl-kit launch TABLE --to bash -- COMMAND writes a script that "
            "does; to train in one process: --launcher single",
            cards=len(cards),
        )
    value = environ[name]
    if not (value.isascii() and value.isdecimal() and len(value) <= 9 and int(value) < len(cards)):
        raise KitError(
            "runtime.no-such-card",
            "{variable}={value!r} is not a card of this container, which has cards 0 to {last}",
            variable=name,
            value=value,
            last=len(cards) - 1,
        )
    return cards[int(value)]
