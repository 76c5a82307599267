"""Watch a job of several servers: each is asked over ssh what its ranks do, and answers as JSON.

ssh authenticates both ends, and no port is opened. The answer of a server is bounded in size and time, and parsed as
untrusted input.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message, reason_of
from hccl_kit.base.terminal import printable
from hccl_kit.launch.plan import address_of
from hccl_kit.remote.probe import Host, Probe, Reach
from hccl_kit.table.model import Server
from hccl_kit.watch.json_form import job_in
from hccl_kit.watch.view import WatchedJob, WatchedRank, job

PACKAGES = ("base", "remote", "runtime", "watch")
"""What `on_server` imports."""


class Servers:
    """The servers of a table, each of which reads the same folder `run`."""

    def __init__(self, servers: Sequence[Server], run: str, reach: Reach) -> None:
        self.servers, self.run, self.reach = servers, run, reach
        self.probe = Probe("watch.on_server", PACKAGES)

    def look(self) -> WatchedJob:
        """What all ranks do now. Raises KitError if no server answers."""
        hosts = [Host(server.id, address_of(server), (self.run,)) for server in self.servers]
        replies = self.probe.ask(self.reach, hosts, quiet=True)
        answers: list[WatchedJob] = []
        lost: list[str] = []
        for server, reply in zip(self.servers, replies, strict=True):
            try:
                answers.append(job_in(reply.document()))
            except ValueError as error:
                lost.append(_lost(server, reason_of(error)))
        if not answers:
            raise KitError(
                "watch.no-answer",
                "no server answered; {first}",
                fix="set HCCL_KIT_SSH or --python if it is reached in another way",
                first=lost[0],
            )
        return joined(printable(self.run), answers, lost)


def _lost(server: Server, reason: str) -> Message:
    shown = reason if isinstance(reason, Message) else printable(reason)
    return Message("watch.lost", "{server}: {reason}", server=printable(server.id), reason=shown)


def joined(run: str, answers: Sequence[WatchedJob], lost: Sequence[str]) -> WatchedJob:
    """The job of the ranks of all servers. If several report a rank (a shared disk), the latest sign of life counts.

    Reports on an earlier start than the latest one do not count.
    """
    restarts = max(answer.restarts for answer in answers)
    ranks: dict[int, WatchedRank] = {}
    for answer in answers:
        for rank in answer.ranks if answer.restarts == restarts else ():
            before = ranks.get(rank.rank)
            if before is None or _age(rank) < _age(before):
                ranks[rank.rank] = rank
    size = max(answer.size for answer in answers)
    notes = tuple(dict.fromkeys(note for answer in answers for note in answer.notes))[:8]
    whole = job(run, time.time(), list(ranks.values()), size=size, restarts=restarts, notes=notes)
    return whole._replace(lost=tuple(lost))


def _age(rank: WatchedRank) -> float:
    return float("inf") if rank.silent_s is None else rank.silent_s
