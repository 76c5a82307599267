"""The ranks of a pod by a rank table, which is in the manifest, or which the cluster writes after the pods started."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.agent.assignment import AssignedRank
from hccl_kit.pod.ranks import POLL, PodRanks, log, seconds, visible
from hccl_kit.pod.settings import PodError, Settings

INITIALIZING, COMPLETED = "initializing", "completed"
REMIND = 60.0
"""Seconds between two messages about a table that is not there yet."""
MAX_BYTES = 40 << 20
"""The largest table that HCCL reads."""
MAX_LISTED = 8
"""Servers in a message."""


class TableFile(NamedTuple):
    """The state of a table, its text, and its value; the latter two are empty if it cannot be read."""

    state: str
    text: str = ""
    value: Any = None


def by_table(settings: Settings, environ: Mapping[str, str]) -> PodRanks:
    """By the host of the pod in the table; the cards of a container are numbered from 0. Raises PodError."""
    path = Path(settings.table)
    table = _completed(path, seconds(environ, settings.timeout))
    try:
        return _of_table(settings, environ, table)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PodError(f"the rank table {path} is not valid: {type(error).__name__} {error}") from None


def _of_table(settings: Settings, environ: Mapping[str, str], table: TableFile) -> PodRanks:
    servers = table.value["server_list"]
    here = _own_server(servers, environ.get(settings.server, ""))
    devices = sorted(here["device"], key=_rank_of)
    ids = sorted(int(device["device_id"]) for device in devices)
    if not ids:
        raise PodError(f"the rank table {settings.table} has no card for this pod")
    _assert_cards(ids, environ.get("ASCEND_VISIBLE_DEVICES", ""))
    (first,) = (server for server in servers if 0 in map(_rank_of, server["device"]))
    in_order = sorted(
        (server for server in servers if server["device"]), key=lambda server: min(map(_rank_of, server["device"]))
    )
    node = in_order.index(here)
    job = {
        "size": sum(len(server["device"]) for server in servers),
        "local_size": len(ids),
        "master_addr": "127.0.0.1" if len(servers) == 1 else _address(first),
        "master_port": settings.port,
        "node": node,
        **visible(settings, environ, len(ids)),
    }
    cards = [ids.index(int(device["device_id"])) for device in devices]
    if settings.limits_cards and cards != sorted(cards):
        raise PodError(
            f"the rank table gives the ranks of this pod the cards {', '.join(map(str, cards))} in this order; programs"
            " of PyTorch take card i for local rank i"
            "\n  fix: use a table that numbers the ranks of a server by card"
        )
    ranks = []
    for i, (device, card) in enumerate(zip(devices, cards)):  # noqa: B905 - Python 3.8
        rank = _rank_of(device)
        ranks.append(AssignedRank(rank, card, settings.variables(rank=rank, local_rank=i, device=card, **job)))
    return PodRanks(tuple(ranks), node, settings.port, table.text)


def _rank_of(device: Mapping[str, Any]) -> int:
    return int(device["rank_id"])


def _address(server: Mapping[str, Any]) -> str:
    """The address of a server for other pods: from the operator, otherwise its id."""
    return str(server.get("container_ip") or server.get("host_ip") or server["server_id"])


def _own_server(servers: Sequence[Mapping[str, Any]], here: str) -> Mapping[str, Any]:
    """The entry of the host with the address `here`."""
    matches = [
        server for server in servers if here and here in map(server.get, ("server_id", "host_ip", "container_ip"))
    ]
    if len(matches) == 1:
        return matches[0]
    ids = ", ".join(str(server.get("server_id")) for server in servers[:MAX_LISTED])
    more = f" and {len(servers) - MAX_LISTED} more" if len(servers) > MAX_LISTED else ""
    raise PodError(
        f"this pod runs on {here or 'an unknown host'}, which {'matches more than one' if matches else 'is not a'} "
        f"server of the rank table; it has {ids}{more}"
        "\n  fix: let the cluster write the table, or run the pods on its servers only (nodeSelector)"
    )


def _assert_cards(ids: Sequence[int], names: str) -> None:
    """Compare with the cards from Volcano's Ascend plugin, such as "Ascend910-4,Ascend910-5"; others set nothing."""
    given = [name.rpartition("-")[2] for name in names.split(",")]
    if all(text.isascii() and text.isdecimal() for text in given) and sorted(map(int, given)) != list(ids):
        raise PodError(
            f"the cluster gave this pod the cards {names}, the rank table has {', '.join(map(str, ids))}"
            "\n  fix: let the cluster write the table, or take all cards of a server"
        )


def _completed(path: Path, limit: float) -> TableFile:
    """Wait until the status of a table is `completed`. Raises PodError."""
    reminded = start = time.monotonic()
    while True:
        table = _read(path)
        now = time.monotonic()
        if table.state == COMPLETED:
            if not isinstance(table.value.get("server_list"), list):
                raise PodError(f"{path} has no server_list; a pod reads tables of versions 1.0 and 1.2")
            return table
        if now - start >= limit:
            raise PodError(
                f"the rank table {path} is {table.state} after {limit:.0f} s"
                "\n  fix: check that the Ascend Operator (or the HCCL Controller) is running: kubectl get pods -A"
            )
        if now - reminded >= REMIND:
            log(f"waiting for the rank table {path}: it is {table.state}")
            reminded = now
        time.sleep(POLL)


def _read(path: Path) -> TableFile:
    """A table as it is now. It may just be being written, so an invalid one is not final."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        return TableFile(f"not readable ({error.strerror})")
    try:
        if path.suffix == ".gz":
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            return TableFile(f"larger than {MAX_BYTES >> 20} MiB")
        text = data.decode("utf-8-sig")
        value = json.loads(text)
    except zlib.error:
        return TableFile("not valid gzip")
    except (ValueError, RecursionError):
        return TableFile("not valid JSON")
    status = value.get("status") if isinstance(value, dict) else None
    return TableFile(str(status) if status in (INITIALIZING, COMPLETED) else f"of status {status!r}", text, value)
