"""Finds out which ranks a pod runs; manifests for Kubernetes contain this program.

    python3 -Iu start.py COMMAND ...

Its folder also has run.py (`pod_run`), which it executes, and start.json: the values of Settings. Exit code 2: the
ranks could not be found; the others are those of `pod_run`. It needs Python 3.8 only.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    Ranks = list[tuple[str, dict[str, str]]]
    """The name of each rank in the output, and its variables."""

INITIALIZING, COMPLETED = "initializing", "completed"
TIMEOUT = 1800
"""Seconds to wait for a completed table, as in HCCL."""
POLL, REMIND = 1.0, 60.0
"""Seconds between two reads of the table, and between two messages about it."""
MAX_BYTES = 40 << 20
"""The largest table that HCCL reads."""
MAX_LISTED = 8
"""Servers in a message."""


class PodError(Exception):
    """Why the ranks cannot start, and the fix."""


class Settings(NamedTuple):
    """`source`: a key of SOURCES. `names`: the variables of each field of a worker. `unset`: variables to remove.

    `mark`: further variables of ranks that get all fields of a worker. `port` of rank 0. `timeout`: the variable with
    the seconds to wait. `threads`: the variable with the threads of a rank. `limits_cards`: the variable for visible
    cards lists those of the pod, which a container numbers from 0.

    For the source "table": `table`, its path (".gz": compressed), and `server`, the variable with the address of this
    host.

    For "number": `controller`, which sets the variables `pod_index` (of this pod), `address` (of pod 0) and `pod_count`
    (unless it is empty); the `pods` and the `cards` of each; whether pod 0 also runs a `scheduler` of MindSpore.
    """

    source: str
    names: Mapping[str, Sequence[str]]
    unset: Sequence[str]
    mark: Mapping[str, str] = {}
    table: str = ""
    port: int = 0
    server: str = ""
    timeout: str = ""
    threads: str = ""
    limits_cards: bool = False
    controller: str = ""
    pod_index: str = ""
    address: str = ""
    pod_count: str = ""
    pods: int = 0
    cards: int = 0
    scheduler: bool = False

    def variables(self, **fields: object) -> dict[str, str]:
        """The variables of a rank, under every name that a framework reads."""
        return {**self.mark, **{name: str(value) for field, value in fields.items() for name in self.names[field]}}

    def visible(self, environ: Mapping[str, str], cards: int) -> dict[str, str]:
        """The field of the visible cards, if the ranks have one; that of the image must be the same."""
        (name,) = self.names["visible"]
        given, listed = environ.get(name), ",".join(map(str, range(cards)))
        if not self.limits_cards:
            if given is not None:
                log(f"note: {name}={given!r} is removed: the ranks number all cards of this pod from 0")
            return {}
        if given not in (None, listed):
            raise PodError(
                f"{name}={given!r} in this pod; its cards are {listed}"
                f"\n  fix: remove {name} from the image and the manifest, or set it to {listed}"
            )
        return {"visible": listed}


def number(environ: Mapping[str, str], name: str, controller: str = "") -> int:
    """The value of a variable that the Ascend Operator or another controller sets."""
    value = environ.get(name, "")
    if not (value.isascii() and value.isdecimal() and len(value) <= 9):
        by, fix = controller, "start this program in a pod of the manifest that it came with"
        if not controller:
            by = "the Ascend Operator sets it in the pods of an AscendJob"
            fix = "check that the operator is running, and that the container is named ascend"
        raise PodError(f"{name}={value!r} is not a number from 0; {by}\n  fix: {fix}")
    return int(value)


def of_mindspore(settings: Settings, environ: Mapping[str, str]) -> Ranks:
    """From MS_*, which the operator sets: the scheduler's pod runs one process, a worker one for each of its cards.

    As under msrun, cards are numbered from 0, and MS_NODE_ID sets the rank.
    """
    (rank_id, *_), (rank_size, *_), (device_id,) = (settings.names[field] for field in ("rank", "size", "device"))
    size = {rank_size: str(number(environ, "MS_WORKER_NUM"))}
    if environ.get("MS_ROLE") == "MS_SCHED":
        return [("scheduler", size)]
    local = number(environ, "MS_LOCAL_WORKER")
    settings.visible(environ, local)
    first = number(environ, "MS_NODE_RANK") * local
    return [
        (str(first + i), {rank_id: str(first + i), device_id: str(i), "MS_NODE_ID": str(first + i), **size})
        for i in range(local)
    ]


def of_torch(settings: Settings, environ: Mapping[str, str]) -> Ranks:
    """From the variables of torch, which the operator sets; its RANK is the number of the pod."""
    local, size = number(environ, "LOCAL_WORLD_SIZE"), number(environ, "WORLD_SIZE")
    index, port = number(environ, "RANK"), number(environ, "MASTER_PORT")
    job = {"size": size, "local_size": local, "master_addr": environ.get("MASTER_ADDR", ""), "master_port": port}
    job.update(node=index, **settings.visible(environ, local))
    first = index * local
    return [(str(first + i), settings.variables(rank=first + i, local_rank=i, device=i, **job)) for i in range(local)]


def of_number(settings: Settings, environ: Mapping[str, str]) -> Ranks:
    """From the number of the pod: the ranks of its cards follow those of the pods before it."""
    index, master = pod_number(settings, environ), environ.get(settings.address, "")
    if not master:
        raise PodError(f"{settings.address} is not set; {settings.controller} sets it to the address of pod 0")
    first, size, port = index * settings.cards, settings.pods * settings.cards, settings.port
    if settings.scheduler:
        return of_scheduler(settings, index, resolved(master, port, seconds(environ, settings.timeout)))
    job = {"size": size, "local_size": settings.cards, "master_addr": master, "master_port": port, "node": index}
    job.update(settings.visible(environ, settings.cards))
    ranks = range(settings.cards)
    return [(str(first + i), settings.variables(rank=first + i, local_rank=i, device=i, **job)) for i in ranks]


def pod_number(settings: Settings, environ: Mapping[str, str]) -> int:
    """The number of this pod, which is below the number of pods."""
    by = f"{settings.controller} sets it"
    index = number(environ, settings.pod_index, by)
    found = number(environ, settings.pod_count, by) if settings.pod_count else settings.pods
    if found != settings.pods or index >= settings.pods:
        name, value = (settings.pod_count, found) if found != settings.pods else (settings.pod_index, index)
        raise PodError(
            f"{name}={value}, and the manifest was written for {settings.pods} pod(s)"
            "\n  fix: write the manifest for a rank table of as many servers, instead of changing the number of pods"
        )
    return index


def of_scheduler(settings: Settings, index: int, host: str) -> Ranks:
    """For MindSpore without a rank table: its scheduler runs in pod 0, beside the workers."""
    job = {
        "MS_WORKER_NUM": str(settings.pods * settings.cards),
        "MS_SCHED_HOST": host,
        "MS_SCHED_PORT": str(settings.port),
    }
    pod = {"MS_ROLE": "MS_WORKER", "MS_LOCAL_WORKER": str(settings.cards), "MS_NODE_RANK": str(index)}
    workers = of_mindspore(settings, {**job, **pod})
    scheduler = of_mindspore(settings, {**job, "MS_ROLE": "MS_SCHED"}) if index == 0 else []
    roles = [("MS_SCHED", rank) for rank in scheduler] + [("MS_WORKER", rank) for rank in workers]
    return [(name, {**job, "MS_ROLE": role, **variables}) for role, (name, variables) in roles]


def resolved(host: str, port: int, limit: float) -> str:
    """The address of a host name, for which the cluster makes a record when the pod has an address."""
    end = time.monotonic() + limit
    while True:
        try:
            return str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0])
        except (OSError, UnicodeError) as error:
            if time.monotonic() >= end:
                raise PodError(
                    f"the address of pod 0, {host!r}, is not known after {limit:.0f} s: {error}"
                    "\n  fix: check that pod 0 was started, and that the cluster has a service for its name"
                ) from None
            time.sleep(POLL)


def of_table(settings: Settings, environ: Mapping[str, str]) -> Ranks:
    """From the rank table; the cards of a container are numbered from 0."""
    text, servers = completed(Path(settings.table), seconds(environ, settings.timeout))
    own = own_server(servers, environ.get(settings.server, ""))
    devices = sorted(own["device"], key=rank_of)
    ids = sorted(int(device["device_id"]) for device in devices)
    if not ids:
        raise PodError(f"the rank table {settings.table} has no card for this pod")
    assert_cards(ids, environ.get("ASCEND_VISIBLE_DEVICES", ""))
    (first,) = (server for server in servers if 0 in map(rank_of, server["device"]))
    in_order = sorted((one for one in servers if one["device"]), key=lambda one: min(map(rank_of, one["device"])))
    job = {
        "size": sum(len(server["device"]) for server in servers),
        "local_size": len(ids),
        "table": private_copy(text),
        "master_addr": "127.0.0.1" if len(servers) == 1 else address(first),
        "master_port": settings.port,
        "node": in_order.index(own),
        **settings.visible(environ, len(ids)),
    }
    cards = [ids.index(int(device["device_id"])) for device in devices]
    if settings.limits_cards and cards != sorted(cards):
        raise PodError(
            f"the rank table gives the ranks of this pod the cards {', '.join(map(str, cards))} in this order; programs"
            " of PyTorch take card i for local rank i"
            "\n  fix: use a table that numbers the ranks of a server by card"
        )
    return [
        (str(rank_of(device)), settings.variables(rank=rank_of(device), local_rank=i, device=cards[i], **job))
        for i, device in enumerate(devices)
    ]


def rank_of(device: Mapping[str, Any]) -> int:
    """The rank of an entry of the table."""
    return int(device["rank_id"])


def address(server: Mapping[str, Any]) -> str:
    """The address of a server for other pods: from the operator, otherwise its id."""
    return str(server.get("container_ip") or server.get("host_ip") or server["server_id"])


def own_server(servers: Sequence[Mapping[str, Any]], here: str) -> Mapping[str, Any]:
    """The entry of the host with the address `here`."""
    found = [one for one in servers if here and here in map(one.get, ("server_id", "host_ip", "container_ip"))]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(str(server.get("server_id")) for server in servers[:MAX_LISTED])
    more = f" and {len(servers) - MAX_LISTED} more" if len(servers) > MAX_LISTED else ""
    raise PodError(
        f"this pod runs on {here or 'an unknown host'}, which {'matches more than one' if found else 'is not a'} "
        f"server of the rank table; it has {listed}{more}"
        "\n  fix: let the cluster write the table, or run the pods on its servers only (nodeSelector)"
    )


def assert_cards(ids: Sequence[int], visible: str) -> None:
    """Compare with the cards from Volcano's Ascend plugin, such as "Ascend910-4,Ascend910-5"; others set nothing."""
    given = [name.rpartition("-")[2] for name in visible.split(",")]
    if all(text.isascii() and text.isdecimal() for text in given) and sorted(map(int, given)) != list(ids):
        raise PodError(
            f"the cluster gave this pod the cards {visible}, the rank table has {', '.join(map(str, ids))}"
            "\n  fix: let the cluster write the table, or take all cards of a server"
        )


def seconds(environ: Mapping[str, str], name: str) -> float:
    """The seconds to wait for the table."""
    value = environ.get(name) or str(TIMEOUT)
    if not (value.isascii() and value.isdecimal() and len(value) <= 9):
        raise PodError(f"{name}={value!r} is not a number of seconds")
    return float(value)


def completed(path: Path, limit: float) -> tuple[bytes, list[Any]]:
    """Wait until the status of a table is `completed`; returns its text and servers."""
    reminded = start = time.monotonic()
    while True:
        state, data, value = read(path)
        now = time.monotonic()
        if state == COMPLETED:
            if not isinstance(value.get("server_list"), list):
                raise PodError(f"{path} has no server_list; a pod reads tables of versions 1.0 and 1.2")
            return data, value["server_list"]
        if now - start >= limit:
            raise PodError(
                f"the rank table {path} is {state} after {limit:.0f} s"
                "\n  fix: check that the Ascend Operator (or the HCCL Controller) is running: kubectl get pods -A"
            )
        if now - reminded >= REMIND:
            log(f"waiting for the rank table {path}: it is {state}")
            reminded = now
        time.sleep(POLL)


def read(path: Path) -> tuple[str, bytes, Any]:
    """The state, text and value of a table. It may just be being written, so an invalid one is not final."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        return f"not readable ({error.strerror})", b"", None
    try:
        if path.suffix == ".gz":
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            return f"larger than {MAX_BYTES >> 20} MiB", b"", None
        value = json.loads(data)
    except zlib.error:
        return "not valid gzip", b"", None
    except ValueError:
        return "not valid JSON", b"", None
    status = value.get("status") if isinstance(value, dict) else None
    return (str(status) if status in (INITIALIZING, COMPLETED) else f"of status {status!r}"), data, value


def private_copy(text: bytes) -> str:
    """Copy the table: the mounted file is a symbolic link, which torch_npu ignores, and may be replaced at any time."""
    path = Path(tempfile.mkdtemp(prefix="rank_table_"), "hccl.json")
    path.write_bytes(text)
    return str(path)


SOURCES = {"mindspore": of_mindspore, "torch": of_torch, "number": of_number, "table": of_table}


def cores() -> int:
    """The cores that this pod may use: those of its affinity, or less if its limit of CPU time is lower."""
    count = len(os.sched_getaffinity(0))
    for files in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):  # cgroup 2 and 1
        try:
            quota, period = " ".join(Path("/sys/fs/cgroup", name).read_text() for name in files).split()
            count = min(count, int(quota) // int(period)) if int(quota) > 0 else count
        except (OSError, ValueError, ZeroDivisionError):  # not this version, or "max": no limit
            continue
    return count


def threads(settings: Settings, environ: Mapping[str, str], ranks: Ranks) -> dict[str, str]:
    """The variable with the threads of a rank, unless it is set; without it, each would start one for each core."""
    if not settings.threads or environ.get(settings.threads):
        return {}
    count, local = cores(), max(1, sum(name.isdecimal() for name, _ in ranks))
    own = str(max(1, count // local))
    log(f"{settings.threads}={own}: {count} core(s) for {local} rank(s)")
    return {settings.threads: own}


def log(text: str) -> None:
    """Write a message to the log of the container."""
    os.write(2, f"{text}\n".encode(errors="replace"))


def execute(settings: Settings, ranks: Ranks, command: Sequence[str]) -> NoReturn:
    """Replace this process with `pod_run`."""
    common = threads(settings, os.environ, ranks)
    ranks = [(name, {**common, **given}) for name, given in ranks]
    unset = {name for names in settings.names.values() for name in names} | set(settings.unset)
    program = str(Path(__file__).with_name("run.py"))
    arguments = json.dumps([sorted(unset), ranks])
    os.execv(sys.executable, [sys.executable, "-Iu", program, arguments, *command])  # noqa: S606 - no shell


def main(command: Sequence[str]) -> int:
    """Run the program; returns an exit code if there are no ranks to start."""
    settings = Settings(**json.loads(Path(__file__).with_name("start.json").read_text(encoding="utf-8")))
    try:
        ranks = SOURCES[settings.source](settings, os.environ)
    except PodError as error:
        text = str(error)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"the rank table {settings.table} is not valid: {type(error).__name__} {error}"
    else:
        execute(settings, ranks, command)
    log(f"error: {text}")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
