"""Print the ports, interfaces and timeouts of a job as variables, or check those of its ranks.

Every job on a host gets ports of its own, by its number: outside the ports that the system gives
to outgoing connections, and below 65536. The interface is the one that has the server's address.
No rank is started, and no setting of a machine is changed. HCCL_KIT_SSH replaces ssh, as in
"ssh -F FILE".

examples:
  hccl-kit env hccl_2s_16p.json --job 1 --ssh
  eval "$(hccl-kit env hccl_8p.json --job 1 --format sh)"
  hccl-kit env hccl_8p.json --job 1 --check 4711 4712
  hccl-kit env hccl_8p.json --check ~/ascend/log env.txt

Exit codes: 0 printed, or with --check all as planned; 1 --check found a difference; 2 could not
run.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.paragraph import filled
from hccl_kit.base.terminal import printable
from hccl_kit.base.translation import translated
from hccl_kit.base.wording import counted, listed
from hccl_kit.cli import complain, program
from hccl_kit.cli.options import add_job, add_ssh_option, add_timeout, whole
from hccl_kit.cli.tables import read_table
from hccl_kit.diagnosis.errors.row import TEXTS
from hccl_kit.diagnosis.rank_settings import read_settings
from hccl_kit.diagnosis.variable_check import Difference, check, identity
from hccl_kit.launch.hccl_variables import Host, ServerVariables, Variable, VariablePlan, Wanted, plan_variables
from hccl_kit.launch.job_ports import EPHEMERAL, JOBS
from hccl_kit.preflight.host_facts import hosts_over_ssh, this_host
from hccl_kit.preflight.probes.this_server import find_server, servers_here
from hccl_kit.runtime.worker_env import SERVER
from hccl_kit.table.model import RankTable, Server
from hccl_kit.table.products import only_reader

_SOURCES = 2
_ALL_RANKS = Message("cli.env.all-ranks", "all ranks")
_WIDTH = 100
"""Cells of a line of a reason, which begins with `_INDENT`."""
_INDENT = " " * 6
VERSION = 1
"""Version of the JSON form."""


class EnvRequest(NamedTuple):
    """The command line of hccl-kit env; a field for each option."""

    table: str
    job: int
    jobs: int | None
    connect_timeout: int | None
    exec_timeout: int | None
    server: str | None
    format: str
    check: Sequence[str] | None
    ssh: bool
    ssh_option: Sequence[str]
    timeout: float


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit env", doc=__doc__)
    parser.add_argument("table", metavar="TABLE", help='the rank table, or "-" for standard input')
    add_job(parser, default=0)
    parser.add_argument(
        "--connect-timeout",
        metavar="SECONDS",
        type=whole("--connect-timeout"),
        help="HCCL_CONNECT_TIMEOUT, from 120 to 7200 (default: 600)",
    )
    parser.add_argument(
        "--exec-timeout",
        metavar="SECONDS",
        type=whole("--exec-timeout"),
        help="HCCL_EXEC_TIMEOUT, longer than --connect-timeout; 0 is no limit (default: 1836, at least"
        " --connect-timeout + 120)",
    )
    parser.add_argument(
        "--server",
        metavar="ID",
        help=f"print only this server of the table (default: all; with --format sh this machine, see {SERVER})",
    )
    parser.add_argument(
        "--format", choices=["text", "json", "sh"], default="text", help="sh: lines for eval (default: text)"
    )
    parser.add_argument(
        "--check",
        metavar="SOURCE",
        nargs="+",
        help="compare with what ranks had: PIDs, files that `env` wrote, /proc/PID/environ, plogs or folders of them",
    )
    ssh = parser.add_argument_group("other servers")
    ssh.add_argument("--ssh", action="store_true", help="ask the other servers for their interfaces and ports")
    add_ssh_option(ssh)
    add_timeout(ssh, 60.0)
    return parser


def print_plan(request: EnvRequest) -> int:
    """Print the plan, or what differs from it; returns the exit code. Raises KitError if there can be no plan."""
    if "" in (request.check or ()):  # an unset variable; as a folder it would be the current one
        raise KitError("cli.env.check-not-path", "--check: '' is not a path or process id")
    table = read_table(request.table)
    wanted = Wanted(
        request.job, JOBS if request.jobs is None else request.jobs, request.connect_timeout, request.exec_timeout
    )
    plan = plan_variables(table, wanted, _hosts(table, request))
    only = _only(table, request)
    shown = plan._replace(servers=tuple(server for server in plan.servers if only in (None, server.server)))
    reader = only_reader(table.version)
    settings = [rank for source in request.check or () for rank in read_settings(source)]
    differences = (
        [*check(plan, settings, reader.name if reader else ""), *identity(table, settings)] if request.check else None
    )
    if request.format == "json":
        print(json.dumps(as_json(request.table, shown, differences), indent=4))
    elif differences is not None:
        environments = counted(len(settings), "environment")
        planned = Message("cli.env.as-planned", "{environments}: as planned", environments=environments)
        lines = [*_difference_lines(differences), *([] if _has_error(differences) else [planned])]
        print(*map(translated, lines), sep="\n")
    elif request.format == "sh":
        print(*as_sh(shown.of(shown.servers[0])), sep="\n")
    else:
        print(*map(translated, as_text(shown)), sep="\n")
    return EXIT_FINDINGS if _has_error(differences or ()) else EXIT_OK


def _has_error(differences: Sequence[Difference]) -> bool:
    return any(difference.severity == "error" for difference in differences)


def _hosts(table: RankTable, request: EnvRequest) -> dict[str, Host]:
    """What is known of the servers: this machine, and those that answer over ssh."""
    find_server(table, request.server)  # raises for an unknown server before any is queried
    here = servers_here(table)
    hosts = {server.id: this_host() for server in here}
    others = [server for server in table.servers if server not in here]
    if request.ssh and others:
        answered, failed = hosts_over_ssh(others, request.ssh_option, request.timeout)
        hosts |= answered
        for name, why in failed.items():
            complain(
                Message(
                    "cli.env.not-queried",
                    "warning: server {server} was not queried: {reason}; the defaults of Linux are assumed for it",
                    server=printable(name),
                    reason=printable(why),
                )
            )
    return hosts


def _only(table: RankTable, request: EnvRequest) -> str | None:
    """The one server that is printed, None for all. Raises KitError if sh would need one and there are several."""
    if request.server:
        return request.server
    if request.format != "sh" or request.check or len(table.servers) == 1:
        return None
    server: Server | None = find_server(table, os.environ.get(SERVER))
    if server is None:
        problem = Message("cli.env.absent", "this machine is not in the table")
        if servers_here(table):
            problem = Message("cli.env.several", "this machine matches several servers of the table")
        raise KitError(problem, hint=Message("cli.env.machine.fix", "--server ID, as it is in the table"))
    return server.id


def as_sh(variables: Sequence[Variable]) -> list[str]:
    """Lines for `eval` or a file to source; every value is quoted."""
    return [f"export {variable.name}={shlex.quote(variable.value)}" for variable in variables]


def as_text(plan: VariablePlan) -> list[str]:
    """The variables with their reasons, those of all ranks first."""
    wanted, ports = plan.wanted, plan.ports.block
    first = Message(
        "cli.env.job",
        "job {job} of at most {jobs} on a host: ports {first} to {last}",
        job=wanted.job,
        jobs=wanted.jobs,
        first=ports.first,
        last=ports.last,
    )
    return [
        first,
        *([_assumption()] if plan.assumes_linux else []),
        "",
        _ALL_RANKS,
        *_variable_lines(plan.variables),
        *(line for server in plan.servers for line in ("", *_server(server))),
    ]


def _assumption() -> Message:
    low, high = EPHEMERAL
    return Message(
        "cli.env.assumed",
        "assumed for servers that were not asked: outgoing connections use ports {low} to {high}, Linux's default",
        low=low,
        high=high,
    )


def _server(server: ServerVariables) -> list[str]:
    heading = Message("cli.env.server", "server {server}", server=printable(server.server))
    note = [f"  {printable(translated(server.note))}"] if server.note else []
    return [heading, *_variable_lines(server.variables), *note]


def _variable_lines(variables: Sequence[Variable]) -> list[str]:
    lines = []
    for variable in variables:
        lines.append(printable(f"  {variable.name}={variable.value}"))
        lines.append(filled(translated(variable.reason, TEXTS), _WIDTH, _INDENT, _INDENT))
    return lines


def _difference_lines(differences: Sequence[Difference]) -> list[str]:
    """A line for each difference, with the sources that have it; the warnings follow."""
    sources: dict[tuple[str, str], list[str]] = {}
    for difference in sorted(differences, key=lambda difference: difference.severity):
        source = difference.source or _ALL_RANKS
        sources.setdefault((difference.severity, difference.text), []).append(source)
    return [printable(translated(_difference(*key, listed(names, _SOURCES)))) for key, names in sources.items()]


def _difference(severity: str, text: str, sources: str) -> Message:
    if severity == "warning":
        return Message("cli.env.warning", "warning: {sources}: {text}", sources=sources, text=text)
    return Message("cli.env.difference", "{sources}: {text}", sources=sources, text=text)


def as_json(table: str, plan: VariablePlan, differences: Sequence[Difference] | None) -> dict[str, Any]:
    """The published form, of schemas/env.schema.json."""
    return {
        "version": VERSION,
        "table": "<stdin>" if table == "-" else table,
        "job": plan.wanted.job,
        "jobs_per_host": plan.wanted.jobs,
        "ports": list(plan.ports.block),
        "ephemeral": [list(kernel.ephemeral) for kernel in plan.kernels],
        "ephemeral_assumed": plan.assumes_linux,
        "variables": [variable._asdict() for variable in plan.variables],
        "servers": [
            {
                "server": server.server,
                "variables": [variable._asdict() for variable in server.variables],
                "note": server.note,
            }
            for server in plan.servers
        ],
        "differences": None if differences is None else [difference._asdict() for difference in differences],
    }


main = program(make_parser, lambda **given: print_plan(EnvRequest(**given)))
