"""Finds out which ranks a pod has; the manifests for Kubernetes carry this text, and nothing else of ours is needed.

    python3 -Iu start.py COMMAND ...

Beside it lie run.py (`pod_run`), which it becomes, and start.json: the values of Settings. Exit code 2 says that the
ranks could not be found; the others are those of `pod_run`. It needs Python 3.8.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    Ranks = list[tuple[str, dict[str, str]]]
    """What each rank is called on the screen, and the variables that it gets."""

INITIALIZING, COMPLETED = "initializing", "completed"
LIMIT = 1800
"""Seconds that a table may take to be completed; HCCL would wait as long."""
LOOK, SAY = 1.0, 60.0
"""Seconds between two looks at the table, and between two words about it."""
MAX_BYTES = 40 << 20
"""HCCL reads no larger table."""
SHOWN = 8
"""Servers that a message names."""


class PodError(Exception):
    """What keeps the ranks from starting, and what to do."""


class Settings(NamedTuple):
    """`way`: a key of WAYS. `names`: the variables of each field of the contract. `unset`: what would mislead a rank.

    `mark`: what every rank gets that is told the whole contract. For the way "table" also `table`, its path;
    `port`, where rank 0 listens; `server` and `patience`, the variables that hold the address of this host and the
    seconds to wait.
    """

    way: str
    names: Mapping[str, Sequence[str]]
    unset: Sequence[str]
    mark: Mapping[str, str] = {}
    table: str = ""
    port: int = 0
    server: str = ""
    patience: str = ""

    def told(self, **fields: object) -> dict[str, str]:
        """The contract: what a rank is told, under every name that a framework reads."""
        return {**self.mark, **{name: str(value) for field, value in fields.items() for name in self.names[field]}}


def number(environ: Mapping[str, str], name: str) -> int:
    """A variable that the Ascend Operator sets."""
    value = environ.get(name, "")
    if not (value.isascii() and value.isdecimal() and len(value) <= 9):
        raise PodError(
            f"{name}={value!r} is no number from 0 on; the Ascend Operator sets it in the pods of an AscendJob"
            "\n  fix: look whether the operator runs, and whether the container is called ascend"
        )
    return int(value)


def of_mindspore(settings: Settings, environ: Mapping[str, str]) -> Ranks:
    """The operator sets MS_*: the pod of the scheduler has one process, a worker one for each of its cards.

    As under msrun, a rank counts its cards from 0, and MS_NODE_ID is its number, which MindSpore then takes.
    """
    (rank_id, *_), (rank_size, *_), (device_id,) = (settings.names[field] for field in ("rank", "size", "device"))
    size = {rank_size: str(number(environ, "MS_WORKER_NUM"))}
    if environ.get("MS_ROLE") == "MS_SCHED":
        return [("scheduler", size)]
    local = number(environ, "MS_LOCAL_WORKER")
    first = number(environ, "MS_NODE_RANK") * local
    return [
        (str(first + i), {rank_id: str(first + i), device_id: str(i), "MS_NODE_ID": str(first + i), **size})
        for i in range(local)
    ]


def of_torch(settings: Settings, environ: Mapping[str, str]) -> Ranks:
    """The operator sets torch's names, but its RANK is the number of the pod."""
    local, size = number(environ, "LOCAL_WORLD_SIZE"), number(environ, "WORLD_SIZE")
    first, port = number(environ, "RANK") * local, number(environ, "MASTER_PORT")
    job = {"size": size, "local_size": local, "master_addr": environ.get("MASTER_ADDR", ""), "master_port": port}
    return [(str(first + i), settings.told(rank=first + i, local_rank=i, device=i, **job)) for i in range(local)]


def of_table(settings: Settings, environ: Mapping[str, str]) -> Ranks:
    """The table says which ranks this server has; a container counts its cards from 0, whichever they are."""
    text, servers = completed(Path(settings.table), seconds(environ, settings.patience))
    devices = sorted(own(servers, environ.get(settings.server, ""))["device"], key=rank_of)
    ids = sorted(int(device["device_id"]) for device in devices)
    if not ids:
        raise PodError(f"the rank table {settings.table} gives this pod no card")
    assert_cards(ids, environ.get("ASCEND_VISIBLE_DEVICES", ""))
    (home,) = (server for server in servers if 0 in map(rank_of, server["device"]))
    job = {
        "size": sum(len(server["device"]) for server in servers),
        "local_size": len(ids),
        "table": private_copy(text),
        "master_addr": "127.0.0.1" if len(servers) == 1 else address(home),
        "master_port": settings.port,
    }
    return [
        (
            str(rank_of(device)),
            settings.told(rank=rank_of(device), local_rank=i, device=ids.index(int(device["device_id"])), **job),
        )
        for i, device in enumerate(devices)
    ]


def rank_of(device: Mapping[str, Any]) -> int:
    """The rank of an entry of the table."""
    return int(device["rank_id"])


def address(server: Mapping[str, Any]) -> str:
    """Where the other pods reach one: what the operator notes of it, else its id."""
    return str(server.get("container_ip") or server.get("host_ip") or server["server_id"])


def own(servers: Sequence[Mapping[str, Any]], here: str) -> Mapping[str, Any]:
    """The entry of this host, whose address is `here`."""
    found = [one for one in servers if here and here in map(one.get, ("server_id", "host_ip", "container_ip"))]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(str(server.get("server_id")) for server in servers[:SHOWN])
    more = f" and {len(servers) - SHOWN} more" if len(servers) > SHOWN else ""
    raise PodError(
        f"this pod runs on {here or 'an unknown host'}, which is {'more than one' if found else 'no'} server of the "
        f"rank table; it has {listed}{more}"
        "\n  fix: let the cluster write the table, or let the pods run on its servers only (nodeSelector)"
    )


def assert_cards(ids: Sequence[int], visible: str) -> None:
    """Volcano's Ascend plugin notes at the pod which cards it has: "Ascend910-4,Ascend910-5"; others note nothing."""
    given = [name.rpartition("-")[2] for name in visible.split(",")]
    if all(text.isascii() and text.isdecimal() for text in given) and sorted(map(int, given)) != list(ids):
        raise PodError(
            f"the cluster gave this pod the cards {visible}, the rank table has {', '.join(map(str, ids))}"
            "\n  fix: let the cluster write the table, or take all cards of a server"
        )


def seconds(environ: Mapping[str, str], name: str) -> float:
    """How long to wait for the table."""
    value = environ.get(name) or str(LIMIT)
    if not (value.isascii() and value.isdecimal() and len(value) <= 9):
        raise PodError(f"{name}={value!r} is no number of seconds")
    return float(value)


def completed(path: Path, limit: float) -> tuple[bytes, list[Any]]:
    """The text of a table and its servers, as soon as its status is `completed`."""
    said = start = time.monotonic()
    while True:
        state, data, value = look(path)
        now = time.monotonic()
        if state == COMPLETED:
            if not isinstance(value.get("server_list"), list):
                raise PodError(f"{path} has no server_list; a pod reads tables of versions 1.0 and 1.2")
            return data, value["server_list"]
        if now - start >= limit:
            raise PodError(
                f"the rank table {path} is {state} after {limit:.0f} s"
                "\n  fix: look whether the Ascend Operator (or the HCCL Controller) runs: kubectl get pods -A"
            )
        if now - said >= SAY:
            os.write(2, f"waiting for the rank table {path}: it is {state}\n".encode())
            said = now
        time.sleep(LOOK)


def look(path: Path) -> tuple[str, bytes, Any]:
    """How far a table is. Somebody may be writing it in this moment, so one that is broken is not final."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        return f"not readable ({error.strerror})", b"", None
    if len(data) > MAX_BYTES:
        return f"larger than {MAX_BYTES >> 20} MiB", b"", None
    try:
        value = json.loads(data)
    except ValueError:
        return "no JSON", b"", None
    status = value.get("status") if isinstance(value, dict) else None
    return (str(status) if status in (INITIALIZING, COMPLETED) else f"of status {status!r}"), data, value


def private_copy(text: bytes) -> str:
    """The mounted file is a symbolic link, which torch_npu passes over, and its target may be replaced any time."""
    path = Path(tempfile.mkdtemp(prefix="rank_table_"), "hccl.json")
    path.write_bytes(text)
    return str(path)


WAYS = {"mindspore": of_mindspore, "torch": of_torch, "table": of_table}


def become(settings: Settings, ranks: Ranks, command: Sequence[str]) -> NoReturn:
    """Go on as `pod_run`."""
    unset = {name for names in settings.names.values() for name in names} | set(settings.unset)
    program = str(Path(__file__).with_name("run.py"))
    told = json.dumps([sorted(unset), ranks])
    os.execv(sys.executable, [sys.executable, "-Iu", program, told, *command])  # noqa: S606 - no shell


def main(command: Sequence[str]) -> int:
    """The program; returns an exit code where it finds no ranks to start."""
    settings = Settings(**json.loads(Path(__file__).with_name("start.json").read_text(encoding="utf-8")))
    try:
        ranks = WAYS[settings.way](settings, os.environ)
    except PodError as error:
        text = str(error)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"the rank table {settings.table} is not as it should be: {type(error).__name__} {error}"
    else:
        become(settings, ranks, command)
    os.write(2, f"error: {text}\n".encode(errors="replace"))
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
