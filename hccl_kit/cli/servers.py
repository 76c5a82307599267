"""hccl-kit run on several servers: from here over ssh or by srun, or by hand on each."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable, shown
from hccl_kit.base.wording import listed
from hccl_kit.cli.checks_before import check_servers
from hccl_kit.cli.options import add_python
from hccl_kit.cli.spares import spares_of
from hccl_kit.launch.assign import as_shell
from hccl_kit.launch.passed_on import select
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.servers.job import ServersJob
from hccl_kit.launch.spares import Placement
from hccl_kit.launch.way import Way, by_srun, by_ssh
from hccl_kit.remote.program import pythons
from hccl_kit.table.model import RankTable

MOST_NAMED = 10
Variables = Mapping[str, str]


class OnServers(NamedTuple):
    """The options for several servers. `ssh`, `slurm`: start them all from here; `server`: this host is that one of the
    table.

    `spares` and `inventory` are as the user wrote them, `replace` are pairs of a server and its spare, `export` names
    of variables, `python` the values of --python.
    """

    ssh: bool = False
    server: str | None = None
    spares: str | None = None
    inventory: str | None = None
    replace: Sequence[tuple[str, str]] = ()
    export: Sequence[str] = ()
    python: Sequence[str] = ()
    slurm: bool = False

    @property
    def from_here(self) -> bool:
        """Whether all servers are started from here."""
        return self.ssh or self.slurm

    def check(self, servers: int, table: str, max_restarts: int) -> None:
        """Raises KitError if the options contradict each other, or do not say how several servers are started."""
        if self.ssh and self.server:
            raise KitError("run.ssh-and-server", "--ssh starts all servers; --server starts the ranks of one")
        if self.slurm:
            self._check_slurm()
        if servers > 1 and not (self.from_here or self.server):
            raise KitError(
                "run.several-servers",
                "the table has {count} servers; this starts the ranks of one",
                fix="--ssh starts all from here, --slurm those of an allocation; or on each server: "
                "hccl-kit run {table} --server ID -- COMMAND; "
                "hccl-kit launch {table} --to slurm, mpirun, ... writes the files for a cluster",
                count=servers,
                table=shlex.quote(table),
            )
        if self.server and max_restarts:
            raise KitError(
                "run.restarts-by-hand",
                "--max-restarts with --server: the other servers would not hear of it",
                fix="--ssh starts all servers from here, and restarts them",
            )
        alone = [name for name in ("spares", "inventory", "replace", "export", "python") if getattr(self, name)]
        if alone and not self.from_here:
            raise KitError("run.without-ssh", "--{option} is for --ssh and --slurm", option=alone[0])
        if (self.inventory or self.replace) and not self.spares:
            raise KitError("run.without-spares", "--inventory and --replace need --spares")

    def _check_slurm(self) -> None:
        if self.ssh or self.server:
            other = "ssh" if self.ssh else "server"
            raise KitError("run.two-ways", "--slurm starts all servers; leave out --{other}", other=other)
        if self.export:
            raise KitError(
                "run.export-by-srun", "--export is for --ssh; srun passes all variables on", fix="leave it out"
            )
        if self.spares and not self.inventory:
            raise KitError(
                "run.spares-by-srun", "--spares with --slurm needs --inventory, with the cards of the spares"
            )


def add_servers(group: argparse._ArgumentGroup) -> None:
    """Add the options of OnServers."""
    group.add_argument("--ssh", action="store_true", help="start the ranks of all servers from here")
    group.add_argument("--slurm", action="store_true", help="the same with srun, inside an allocation of Slurm")
    group.add_argument("--server", metavar="ID", help="start the ranks of this server of the table, which this host is")
    group.add_argument(
        "--spares", metavar="LIST", help="servers that take the place of a lost one, such as 10.0.0.[9-10]"
    )
    group.add_argument(
        "--inventory", metavar="FILE", help="YAML file with the cards of the spares (default: ask each over ssh)"
    )
    group.add_argument(
        "--replace",
        metavar="SERVER=SPARE",
        type=_replacement,
        action="append",
        default=[],
        help="start with a spare in the place of a server; repeatable",
    )
    group.add_argument(
        "--export",
        metavar="NAMES",
        type=lambda text: tuple(filter(None, text.split(","))),
        default=(),
        help="pass on these variables too, also secrets such as HF_TOKEN",
    )
    add_python(group)


def _replacement(text: str) -> tuple[str, str]:
    server, _, spare = text.partition("=")
    if not (server and spare):
        raise KitError("run.replacement", "--replace {text}; accepted: SERVER=SPARE", text=shown(text[:80]))
    return server, spare


def number_of(plan: LaunchPlan, server: str | None) -> int:
    """The number of a server in the plan; without a name that of the only one. Raises KitError."""
    if server is None:
        return 0
    for number, node in enumerate(plan.nodes):
        if server in (node.id, node.address):
            return number
    names = [node.id for node in plan.nodes]
    raise KitError(
        "run.no-such-server",
        "--server {server}; the table has {servers}",
        server=printable(server[:80]),
        servers=listed(map(printable, names), MOST_NAMED),
    )


def prepare(
    options: OnServers,
    placement: Placement,
    replan: Callable[[RankTable], LaunchPlan],
    report: Callable[[str], None],
    *,
    preflight: bool,
) -> tuple[Placement, Way, Variables]:
    """The servers with the spares, of which those of --replace are in their places; and the variables passed on.

    With `preflight`, every server is checked, and a spare takes the place of one with errors. Raises KitError.
    """
    if preflight and options.slurm:
        raise KitError(
            "run.preflight-by-srun", "--preflight reaches the servers over ssh", fix="leave it out, or --slurm"
        )
    if options.spares:
        table, file, _ = placement
        spares = spares_of(options.spares, options.inventory, table, file, python=options.python)
        placement = placement._replace(spares=spares)
    for server, spare in options.replace:
        placement = placement.replace([server], report, by=spare)
    if preflight:
        placement = check_servers(placement, report, options.python)
    nodes = replan(placement.table).nodes
    python = pythons(options.python)
    if options.slurm:
        return placement, Way(by_srun([*nodes, *placement.spares], os.environ), python), {}  # srun passes all on
    way = Way(by_ssh(nodes, os.environ), python)
    environ, left = select(os.environ, options.export)
    if left:
        report(
            Message(
                "run.not-passed-on",
                "note: not passed on to the other servers: {names} (--export NAME,... passes variables on)",
                names=listed((printable(name[:60]) for name in left), MOST_NAMED),
            )
        )
    return placement, way, environ


def show(job: ServersJob) -> None:
    """Print what each rank gets, as lines for the shells of the servers."""
    plan = job.replan(job.placement.table)
    for node, assignment in zip(plan.nodes, job.assignments(plan), strict=True):
        print(f"# server {printable(node.id)}", *as_shell(assignment, os.environ), sep="\n")
