"""The ranks of a pod by its number, or by the variables that the Ascend Operator sets."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from typing import NamedTuple

from hccl_kit.agent.assignment import SCHEDULER, AssignedRank
from hccl_kit.pod.settings import PodError, Settings

TIMEOUT = 1800
"""Seconds to wait for the address of pod 0, or for a completed table, as in HCCL."""
POLL = 1.0
"""Seconds between two looks."""


class PodRanks(NamedTuple):
    """The ranks of this pod, its number, and the text of the rank table if they read one.

    `port` is that of rank 0; None for ranks of MindSpore that meet at its scheduler, which has a port of its own.
    """

    ranks: tuple[AssignedRank, ...]
    node: int
    port: int | None = None
    table: str | None = None


def by_number(settings: Settings, environ: Mapping[str, str]) -> PodRanks:
    """By the number of the pod: the ranks of its cards follow those of the pods before it."""
    node, master = _pod_number(settings, environ), environ.get(settings.address, "")
    if not master:
        raise PodError(f"{settings.address} is not set; {settings.controller} sets it to the address of pod 0")
    if settings.scheduler:
        return _with_scheduler(settings, node, _resolved(master, settings.port, seconds(environ, settings.timeout)))
    return _of_torch(settings, environ, node, {"master_addr": master, "master_port": settings.port})


def by_operator_of_torch(settings: Settings, environ: Mapping[str, str]) -> PodRanks:
    """By the variables of torch, which the Ascend Operator sets; its RANK is the number of the pod."""
    node, port = number(environ, "RANK"), number(environ, "MASTER_PORT")
    given = settings._replace(cards=number(environ, "LOCAL_WORLD_SIZE"))
    size = number(environ, "WORLD_SIZE")
    master = {"master_addr": environ.get("MASTER_ADDR", ""), "master_port": port}
    return _of_torch(given, environ, node, master, size)


def by_operator_of_mindspore(settings: Settings, environ: Mapping[str, str]) -> PodRanks:
    """By MS_*, which the Ascend Operator sets: the scheduler's pod runs one process, a worker one for each card.

    As under msrun, cards are numbered from 0, and MS_NODE_ID sets the rank.
    """
    size = {settings.names["size"][0]: str(number(environ, "MS_WORKER_NUM"))}
    if environ.get("MS_ROLE") == "MS_SCHED":
        return PodRanks((AssignedRank(SCHEDULER, 0, size),), 0)
    cards, node = number(environ, "MS_LOCAL_WORKER"), number(environ, "MS_NODE_RANK")
    visible(settings, environ, cards)
    return PodRanks(tuple(_of_mindspore(settings, node * cards + i, i, size) for i in range(cards)), node)


def number(environ: Mapping[str, str], name: str, controller: str = "") -> int:
    """The value of a variable that the Ascend Operator or another controller sets. Raises PodError."""
    value = environ.get(name, "")
    if not (value.isascii() and value.isdecimal() and len(value) <= 9):
        by, fix = f"{controller} sets it", "start this program in a pod of the manifest that it came with"
        if not controller:
            by = "the Ascend Operator sets it in the pods of an AscendJob"
            fix = "check that the operator is running, and that the container is named ascend"
        raise PodError(f"{name}={value!r} is not a number from 0; {by}\n  fix: {fix}")
    return int(value)


def seconds(environ: Mapping[str, str], name: str) -> float:
    """The seconds to wait. Raises PodError."""
    value = environ.get(name) or str(TIMEOUT)
    if not (value.isascii() and value.isdecimal() and len(value) <= 9):
        raise PodError(f"{name}={value!r} is not a number of seconds")
    return float(value)


def visible(settings: Settings, environ: Mapping[str, str], cards: int) -> dict[str, str]:
    """The field of the visible cards, if the ranks have one. Raises PodError if the image has another value of it."""
    (name,) = settings.names["visible"]
    given, numbers = environ.get(name), ",".join(map(str, range(cards)))
    if not settings.limits_cards:
        if given is not None:
            log(f"note: {name}={given!r} is removed: the ranks number all cards of this pod from 0")
        return {}
    if given not in (None, numbers):
        raise PodError(
            f"{name}={given!r} in this pod; its cards are {numbers}"
            f"\n  fix: remove {name} from the image and the manifest, or set it to {numbers}"
        )
    return {"visible": numbers}


def log(text: str) -> None:
    """Write a message to the log of the container."""
    os.write(2, f"{text}\n".encode("utf-8", "backslashreplace"))


def _of_torch(
    settings: Settings, environ: Mapping[str, str], node: int, master: Mapping[str, object], size: int | None = None
) -> PodRanks:
    cards = settings.cards
    job = {"size": settings.pods * cards if size is None else size, "local_size": cards, "node": node, **master}
    job.update(visible(settings, environ, cards))
    ranks = tuple(
        AssignedRank(node * cards + i, i, settings.variables(rank=node * cards + i, local_rank=i, device=i, **job))
        for i in range(cards)
    )
    return PodRanks(ranks, node, int(str(master["master_port"])))


def _with_scheduler(settings: Settings, node: int, host: str) -> PodRanks:
    """For MindSpore without a rank table: its scheduler runs in pod 0, beside the ranks."""
    size = str(settings.pods * settings.cards)
    job = {"MS_WORKER_NUM": size, "MS_SCHED_HOST": host, "MS_SCHED_PORT": str(settings.port)}
    job[settings.names["size"][0]] = size
    pod = {**job, "MS_ROLE": "MS_WORKER", "MS_LOCAL_WORKER": str(settings.cards), "MS_NODE_RANK": str(node)}
    ranks = [_of_mindspore(settings, node * settings.cards + i, i, pod) for i in range(settings.cards)]
    scheduler = [AssignedRank(SCHEDULER, 0, {**job, "MS_ROLE": "MS_SCHED"})] if node == 0 else []
    return PodRanks((*scheduler, *ranks), node)


def _of_mindspore(settings: Settings, rank: int, card: int, job: Mapping[str, str]) -> AssignedRank:
    (rank_id, *_), (device_id,) = settings.names["rank"], settings.names["device"]
    return AssignedRank(rank, card, {**job, rank_id: str(rank), device_id: str(card), "MS_NODE_ID": str(rank)})


def _pod_number(settings: Settings, environ: Mapping[str, str]) -> int:
    """The number of this pod, which is below the number of pods."""
    index = number(environ, settings.pod_index, settings.controller)
    count = number(environ, settings.pod_count, settings.controller) if settings.pod_count else settings.pods
    if count != settings.pods or index >= settings.pods:
        name, value = (settings.pod_count, count) if count != settings.pods else (settings.pod_index, index)
        raise PodError(
            f"{name}={value}, and the manifest was written for {settings.pods} pod(s)"
            "\n  fix: write the manifest for a rank table of as many servers, instead of changing the number of pods"
        )
    return index


def _resolved(host: str, port: int, limit: float) -> str:
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
