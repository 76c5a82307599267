"""The servers of a new rank table under mpirun: every process finds its own, process 0 puts them together.

An error on a server is sent to process 0 like an answer, so no process waits for it, and all end with one exit code.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hccl_kit import __version__
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import indented, row, shortened
from hccl_kit.discovery.job_servers import JobServers
from hccl_kit.table.hosts import Card, Host

_SHOWN = 16
Answer = Mapping[str, Any]
"""What a process sends, as JSON: its server, or the error that it met."""


def answer_of(find: Callable[[], JobServers]) -> tuple[Answer, KitError | None]:
    """What this process sends about the server that `find` finds, and the error that it raises."""
    origin = {"release": __version__, "machine": socket.gethostname()}
    try:
        server = find()
    except KitError as error:
        return {**origin, "error": error.message, "hint": error.hint}, error
    except OSError as error:
        return {**origin, "error": f"{error.filename}: {error.strerror}", "hint": None}, None
    (host,) = server.hosts
    cards = [(i, card.ip, card.prefix, card.on_vnic, card.sdid) for i, card in host.cards.items()]
    return {**origin, "host": (host.id, host.host_ip, host.super_pod), "cards": cards, "notes": server.notes}, None


def together(answers: Sequence[Answer], error_here: KitError | None) -> JobServers:
    """The servers of all processes, in the order of these.

    Raises KitError if a process failed, or two have the same server; `error_here` if all failed like this one.
    """
    _refuse_errors(answers, error_here)
    _refuse_duplicates(answers)
    hosts = []
    for answer in answers:
        name, host_ip, super_pod = answer["host"]
        hosts.append(Host(name, {i: Card(*facts) for i, *facts in answer["cards"]}, host_ip, super_pod))
    first = tuple(answers[0]["notes"])
    if len(hosts) == 1:
        return JobServers(tuple(hosts), first)
    return JobServers(tuple(hosts), (f"servers: {len(hosts)}, one process on each", *first[-1:]))


def _refuse_errors(answers: Sequence[Answer], error_here: KitError | None) -> None:
    releases = sorted({answer["release"] for answer in answers})
    if len(releases) > 1:
        raise KitError(
            "discovery.mpi-releases",
            "the servers have different releases of hccl-kit: {releases}",
            releases=row(releases),
        )
    failed = [number for number, answer in enumerate(answers) if "error" in answer]
    if not failed:
        return
    texts = {answers[number]["error"] for number in failed}
    if error_here and len(texts) == 1 and len(failed) == len(answers):
        raise error_here  # the same everywhere, such as a wrong option
    lines = shortened([f"process {n} on {answers[n]['machine']}: {answers[n]['error']}" for n in failed], _SHOWN)
    hints = list(dict.fromkeys(answers[number]["hint"] for number in failed if answers[number]["hint"]))
    raise KitError(
        "discovery.mpi-failed",
        "{failed} of {servers} servers failed:{lines}",
        hint=Message("discovery.mpi-failed.fix", "{hints}", hints="\n".join(hints[:_SHOWN])) if hints else None,
        failed=len(failed),
        servers=len(answers),
        lines=indented(lines),
    )


def _refuse_duplicates(answers: Sequence[Answer]) -> None:
    processes: dict[str, list[int]] = {}
    for number, answer in enumerate(answers):
        processes.setdefault(answer["host"][0], []).append(number)
    duplicates = [f"{name}: processes {', '.join(map(str, n[:_SHOWN]))}" for name, n in processes.items() if len(n) > 1]
    if duplicates:
        raise KitError(
            "discovery.mpi-duplicates",
            "with --mpi every process must run on another server; these run on the same one:{lines}",
            fix="start one process per server: mpirun --map-by ppr:1:node",
            lines=indented(duplicates[:_SHOWN]),
        )
