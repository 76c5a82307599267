"""A rank on ModelArts, which reads its device from the rank table of the platform.

ModelArts starts a program once for each card (its own images: RANK_ID, RANK_SIZE and ASCEND_DEVICE_ID are set) or once
for a container (images of users). In a container, cards count from 0, whatever their physical ids are.

Source: ModelArts user guide (2025), environment variables of a training container, boot file of a preset image.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.network import LOOPBACK, port_of_digest
from hccl_kit.base.wording import listed
from hccl_kit.runtime.platform_table import CLOCK, Clock, check_size, no_such_rank, wait_for_table
from hccl_kit.runtime.worker_env import RANK_TABLE_FILE, WorkerEnv, consistent, integer
from hccl_kit.table.model import Device, RankTable

TASK_INDEX = "VC_TASK_INDEX"
"""The index of this container, set by ModelArts and Volcano."""
_PODS = ("MA_CURRENT_INSTANCE_NAME", "BATCH_TASK_CURRENT_INSTANCE", "POD_NAME", "HOSTNAME")
"""The name of this container, the most reliable first."""
_HOSTS = ("MA_CURRENT_HOST_IP", "MA_CURRENT_IP", "XDL_IP", "POD_IP")
"""The address of its host."""
_CARDS = ("ASCEND_DEVICE_ID", "DEVICE_ID")
"""The card of a process in its container, from 0."""


def read(environ: Mapping[str, str], clock: Clock = CLOCK) -> WorkerEnv:
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
