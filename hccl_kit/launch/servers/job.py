"""A job on several servers from its start to its logs: a lost server is replaced by a spare if there is one."""

from __future__ import annotations

import resource
import selectors
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hccl_kit.agent.assignment import Assignment, Limits
from hccl_kit.agent.job import Action, Job, Lost, State, begin, exit_code
from hccl_kit.agent.lines import Report, report
from hccl_kit.agent.run_folder import STARTED_HERE
from hccl_kit.agent.screen import Screen
from hccl_kit.agent.supervise import Supervisor, signals
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.base.translation import translated
from hccl_kit.launch.agent_texts import agent_texts
from hccl_kit.launch.assign import Extra, assign, elsewhere
from hccl_kit.launch.diagnose_logs import verdict
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.servers.connection import Connection
from hccl_kit.launch.servers.fetching import fetch_logs
from hccl_kit.launch.servers.ranks import Server, Servers
from hccl_kit.launch.spares import Placement
from hccl_kit.launch.way import Way
from hccl_kit.remote.program import archive, command, python_of
from hccl_kit.table.model import RankTable

OLDEST = 8
"""The oldest Python of other servers, 3.8."""
DESCRIPTORS, OWN_DESCRIPTORS = 4, 64
"""Open files for each server, one of them while it is started, and others."""
FENCE = 14.0
"""Seconds after which a lost server has no ranks: its agent notices within 8 s, and takes at most 5 s to end them."""


class ServersJob(NamedTuple):
    """A job to be started. `replan` makes the plan of a table, `environ` are the variables that are passed on.

    `folder` is the new log folder of the run, absolute; `cwd` is the folder in which ranks start, on every server.
    """

    placement: Placement
    replan: Callable[[RankTable], LaunchPlan]
    way: Way
    environ: Mapping[str, str]
    folder: Path
    cwd: Path
    port: int | None = None
    limits: Limits = Limits()
    extra: Sequence[Extra] = ()

    def assignments(self, plan: LaunchPlan) -> list[Assignment]:
        """What the agent of each server is told."""
        file = self.placement.file
        return [
            elsewhere(
                assign(
                    plan,
                    self.environ,
                    table=self.folder / file.name,
                    folder=self.folder,
                    host=printable(node.id),
                    node=number,
                    port=self.port,
                    limits=self.limits,
                    extra=self.extra,
                ),
                file,
                self.cwd,
            )
            for number, node in enumerate(plan.nodes)
        ]


def run_servers(job: ServersJob) -> Job:
    """Run the job, and fetch the logs of servers that have another disk; returns it when it is over."""
    _allow_open_files(len(job.replan(job.placement.table).nodes))
    (job.folder / STARTED_HERE).touch()
    payload = archive(["agent"])
    has_spares = bool(job.placement.spares)
    ranks = frozenset(worker.rank for worker in job.replan(job.placement.table).workers)
    now, actions = begin(ranks, job.limits.max_restarts, asks=job.limits.asks)
    with signals() as arrived, selectors.DefaultSelector() as selector:
        screen = Screen(agent_texts())
        supervisor = Supervisor(arrived, selector, screen)
        while now.state is not State.OVER:
            write_atomically(job.folder / job.placement.file.name, job.placement.file.text)
            plan = job.replan(job.placement.table)
            servers = Servers(job.assignments(plan), partial(_connect, job.way, plan, payload), selector, screen)
            now = supervisor.run(servers, now, actions)
            servers.finish()
            if isinstance(now.cause, Lost) and has_spares:
                job, (now, actions) = _without_lost(job, plan, servers, now, supervisor)
            if now.state in (State.OVER, State.UNDECIDED):
                _fetch(job.way, plan, servers, job.folder, screen)
            if now.state is State.UNDECIDED:
                job, (now, actions) = _decided(job, plan, now, supervisor)
        screen.finish()
    (job.folder / STARTED_HERE).unlink(missing_ok=True)
    return now


Next = tuple[ServersJob, tuple[Job, tuple[Action, ...]]]
"""The servers, and the job with what is to be done there; one that is over ends."""


def _without_lost(job: ServersJob, plan: LaunchPlan, servers: Servers, over: Job, supervisor: Supervisor) -> Next:
    """Put spares in the places of lost servers, and wait until no rank is left there."""
    try:
        replaced = _replaced(job, [plan.nodes[number].id for number in servers.lost], supervisor.screen)
    except KitError as error:
        _say(supervisor.screen, Message("launch.giving-up", "giving up: {reason}", reason=error.message))
        return job, (over, ())
    pause = FENCE if servers.lost_ranks else 0.0
    again = Message("launch.restart-now", "restarting in 0 s")
    if pause:
        again = Message(
            "launch.restart-later",
            "restarting in {seconds:.0f} s, when no rank is left on a lost server",
            seconds=pause,
        )
    _say(supervisor.screen, again)
    if stop := supervisor.wait(pause):
        return job, (over._replace(cause=stop, code=exit_code(stop)), ())
    return replaced, begin(over.ranks, job.limits.max_restarts, over.attempt + 1, asks=over.asks)


def _decided(job: ServersJob, plan: LaunchPlan, failed: Job, supervisor: Supervisor) -> Next:
    """Start again as the diagnosis says: not after an error of the program, with a spare for a card that is broken."""
    known = verdict(job.folder, failed)
    broken = [node.id for node in plan.nodes for worker in node.workers if known.of_card and worker.rank == known.rank]
    if broken:
        _say(supervisor.screen, known.text)
        try:
            job = _replaced(job, broken, supervisor.screen)
        except KitError as error:
            _say(supervisor.screen, Message("launch.stays", "its server stays: {reason}", reason=error.message))
    return job, supervisor.decided(failed, known.objection)


def _replaced(job: ServersJob, servers: Sequence[str], screen: Screen) -> ServersJob:
    """The job with spares in the places of these servers. Raises KitError if that is not possible."""
    return job._replace(placement=job.placement.replace(servers, partial(_say, screen)))


def _say(screen: Screen, text: str) -> None:
    screen.say(f"{translated(text)}\n")


def _allow_open_files(servers: int) -> None:
    """Raise the limit of open files as far as the job needs. Raises KitError if that is not allowed."""
    needed = servers * DESCRIPTORS + OWN_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY not in (soft, hard) and needed > hard:
        raise KitError(
            "launch.open-files",
            "{servers} servers need {needed} open files; this host allows {hard}",
            fix="ulimit -Hn {needed}, as root or in /etc/security/limits.conf; or start the job with Slurm",
            servers=servers,
            needed=needed,
            hard=hard,
        )
    if soft != resource.RLIM_INFINITY and needed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _connect(
    way: Way, plan: LaunchPlan, payload: bytes, server: Server, selector: selectors.BaseSelector
) -> Connection[Report]:
    """Reach a server, and start the agent there."""
    node = plan.nodes[server.number]
    python = python_of(way.pythons, node.id, node.address)
    words = command(python, "hccl_kit.agent", size=len(payload), minor=OLDEST)
    sent = payload + server.assignment.to_json().encode() + b"\n"
    return Connection(way.reach(node, words), sent, selector, report)


def _fetch(way: Way, plan: LaunchPlan, servers: Servers, folder: Path, screen: Screen) -> None:
    """Fetch the logs of the servers that answer, and have another disk."""
    nodes = {server.name: plan.nodes[server.number] for server in servers.servers if server.has_logs}
    try:
        for line in fetch_logs([*nodes], lambda name, words: way.reach(nodes[name], words), folder):
            _say(screen, line)
    except KeyboardInterrupt:
        _say(screen, Message("launch.interrupted", "interrupted: the missing logs are on their servers"))
