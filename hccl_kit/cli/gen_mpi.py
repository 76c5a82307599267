"""hccl-gen under mpirun: every process inspects its own server, process 0 writes the one table of all.

An error on a server is sent to process 0 like an answer, so no process waits for it, and all end with one exit code.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hccl_kit import __version__
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import indented, shortened
from hccl_kit.cli import exit_code_of
from hccl_kit.cli.gen_sources import Found
from hccl_kit.discovery.mpi_group import MpiGroup
from hccl_kit.table.hosts import Card, Host

_SHOWN = 16
_Answer = Mapping[str, Any]


def gather_servers(find: Callable[[bool], Found], finish: Callable[[Found], int]) -> int:
    """Call `find` on every process (its argument: whether this is process 0), then `finish` with all on process 0.

    Returns the exit code, the same on every process. Raises KitError if MPI cannot be started.
    """
    team = MpiGroup()
    with team.abort_on_error():
        error = None
        try:
            answer = _answer(find(team.rank == 0))
        except KitError as caught:
            error, answer = caught, {"error": caught.message, "hint": caught.hint}
        except OSError as caught:
            error, answer = None, {"error": f"{caught.filename}: {caught.strerror}", "hint": None}
        texts = team.gather(json.dumps({"release": __version__, "machine": socket.gethostname(), **answer}))
        code = EXIT_OK
        if texts is not None:
            answers = [json.loads(text) for text in texts]
            code = exit_code_of(lambda: finish(_together(answers, error)))
        return team.share(code)


def _answer(found: Found) -> dict[str, Any]:
    (host,) = found.hosts
    cards = [(i, card.ip, card.prefix, card.on_vnic, card.sdid) for i, card in host.cards.items()]
    return {"host": (host.id, host.host_ip, host.super_pod), "cards": cards, "notes": found.notes}


def _together(answers: Sequence[_Answer], own_error: KitError | None) -> Found:
    """All servers in the order of their processes. Raises KitError if a process failed, or two have the same server."""
    _refuse_errors(answers, own_error)
    _refuse_duplicates(answers)
    hosts = []
    for answer in answers:
        name, host_ip, super_pod = answer["host"]
        hosts.append(Host(name, {i: Card(*facts) for i, *facts in answer["cards"]}, host_ip, super_pod))
    first = tuple(answers[0]["notes"])
    if len(hosts) == 1:
        return Found(tuple(hosts), first)
    return Found(tuple(hosts), (f"servers: {len(hosts)}, one process on each", *first[-1:]))


def _refuse_errors(answers: Sequence[_Answer], own: KitError | None) -> None:
    releases = sorted({answer["release"] for answer in answers})
    if len(releases) > 1:
        raise KitError(
            Message(
                "cli.gen-mpi.servers-different-releases",
                "the servers have different releases of hccl-kit: {releases}",
                releases=", ".join(releases),
            )
        )
    failed = [number for number, answer in enumerate(answers) if "error" in answer]
    if not failed:
        return
    texts = {answers[number]["error"] for number in failed}
    if own and len(texts) == 1 and len(failed) == len(answers):
        raise own  # the same everywhere, such as a wrong option
    lines = shortened([f"process {n} on {answers[n]['machine']}: {answers[n]['error']}" for n in failed], _SHOWN)
    hints = list(dict.fromkeys(answers[number]["hint"] for number in failed if answers[number]["hint"]))
    raise KitError(
        Message(
            "cli.gen-mpi.servers-failed",
            "{count} of {count_2} servers failed:{indented}",
            count=len(failed),
            count_2=len(answers),
            indented=indented(lines),
        ),
        hint="\n".join(hints[:_SHOWN]) or None,
    )


def _refuse_duplicates(answers: Sequence[_Answer]) -> None:
    processes: dict[str, list[int]] = {}
    for number, answer in enumerate(answers):
        processes.setdefault(answer["host"][0], []).append(number)
    duplicates = [f"{name}: processes {', '.join(map(str, n[:_SHOWN]))}" for name, n in processes.items() if len(n) > 1]
    if duplicates:
        raise KitError(
            Message(
                "cli.gen-mpi.mpi-every-process",
                "with --mpi every process must run on another server; these run on the same one:{indented}",
                indented=indented(duplicates[:_SHOWN]),
            ),
            hint=Message(
                "cli.gen-mpi.mpi-every-process.fix", "start one process per server: mpirun --map-by ppr:1:node"
            ),
        )
