"""Start the ranks of a table, and look after them: on this server, or on all over ssh or by Slurm.

Everything after -- is the command that each rank runs: the program itself, not torchrun or msrun.
Without a table, --devices makes one as hccl-gen does, and keeps it with the logs.

examples:
  hccl-kit run --devices "[4,8)" -- python train.py
  hccl-kit run --devices "[0,8)" -- python train_ddp.py
  hccl-kit run hccl_8p_01234567_10.0.0.1.json --max-restarts 3 -- python train.py
  hccl-kit run hccl_8p_01234567_10.0.0.1.json --env 3:ASCEND_GLOBAL_LOG_LEVEL=1 -- python train.py
  hccl-kit run hccl_2s_16p.json --ssh -- python train.py
  hccl-kit run hccl_2s_16p.json --ssh --spares "10.0.0.[9-10]" --max-restarts 3 -- python train.py
  salloc --nodes=2 hccl-kit run hccl_2s_16p.json --slurm -- python train.py

With --ssh or --slurm, programs and data are at the same path on every server; the kit and the table
need not be there, only Python 3.8. Without it, --server names this host, and each server is started
by hand; then HCCL's time-outs end the others after a failure.

The first rank that fails ends the job, and is named last.

Exit codes: 0 success; 2 the job could not start or lost a server, or the code of the rank that
failed first; 124 a rank makes no progress; 128 and more: a signal, 130 Ctrl-C, 143 SIGTERM.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hccl_kit.agent.assignment import Assignment, Limits
from hccl_kit.agent.job import Job, Signalled
from hccl_kit.agent.port import PortError
from hccl_kit.agent.supervise import supervise
from hccl_kit.base.arguments import Parser, a_path, split_command
from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import EXIT_OK, KitError
from hccl_kit.base.frameworks import FRAMEWORKS, PYTORCH
from hccl_kit.base.integer import parse_integer
from hccl_kit.base.message import Message
from hccl_kit.base.network import port_of_digest
from hccl_kit.base.terminal import printable, shown
from hccl_kit.cli import complain, exit_code_of
from hccl_kit.cli.checks_before import check_server
from hccl_kit.cli.command import command_of, framework_of, note_on_cards
from hccl_kit.cli.job_table import TableOfJob, table_of_job
from hccl_kit.cli.limits import add_log_limits, add_supervision
from hccl_kit.cli.options import add_framework, add_job, whole
from hccl_kit.cli.servers import OnServers, add_servers, number_of, prepare, show
from hccl_kit.launch.assign import Extra, as_shell, assign, check
from hccl_kit.launch.diagnose_logs import check_verdict, diagnose, verdict
from hccl_kit.launch.hccl_variables import script_variables
from hccl_kit.launch.log_folder import make_log_folder
from hccl_kit.launch.plan import LaunchPlan, plan
from hccl_kit.launch.servers.job import ServersJob, run_servers
from hccl_kit.launch.spares import Placement
from hccl_kit.runtime.worker_env import NAMES, VISIBLE_DEVICES
from hccl_kit.table.model import RankTable

(_PORT,) = NAMES["master_port"]
_VARIABLE = re.compile(r"(?:(?P<rank>[0-9]{1,7}):)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)


class RunRequest(NamedTuple):
    """A table or the cards of this server, the command of the ranks, and how the job is looked after.

    `devices` is the range of --devices if there is no `table`; `product` and `simulate` are for the table that is made.
    `log_dir` holds a folder for each run. `master_port`, `framework` and `job` are None if the user has not named them.
    """

    command: tuple[str, ...]
    table: str | None
    devices: str | None
    product: str
    simulate: bool
    framework: str | None
    log_dir: Path
    env: Sequence[Extra]
    master_port: int | None
    limits: Limits
    preflight: bool
    job: int | None
    jobs: int | None
    dry_run: bool
    on_servers: OnServers = OnServers()


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns the exit code of the job."""
    words, command = split_command(argv)
    return exit_code_of(lambda: run_job(_request(words, command)))


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(
        prog="hccl-kit run",
        doc=__doc__,
        usage="hccl-kit run TABLE|--devices RANGE [options] -- COMMAND ...",
        takes_command=True,
    )
    parser.add_argument("table", metavar="TABLE", nargs="?", help="the rank table")
    parser.add_argument("--devices", metavar="RANGE", help='without a table: cards of this server, such as "[4,8)"')
    parser.add_argument("--product", metavar="NAME", help="with --devices: the hardware (default: as hccl-gen)")
    parser.add_argument(
        "--simulate", action="store_true", help="with --devices, no hardware needed: addresses that no network has"
    )
    add_framework(parser, "programs of pytorch see only the cards of the job, numbered from 0")
    parser.add_argument(
        "--env",
        metavar="[RANK:]NAME=VALUE",
        type=_extra,
        action="append",
        default=[],
        help="a variable for every rank, or for one; repeatable",
    )
    parser.add_argument(
        "--master-port", metavar="PORT", type=whole("--master-port"), help="where rank 0 listens (default: a free port)"
    )
    add_job(parser.add_argument_group("several jobs on a host"))
    add_supervision(parser.add_argument_group("how the job is looked after"))
    add_servers(parser.add_argument_group("several servers"))
    logs = parser.add_argument_group("what ranks print")
    logs.add_argument(
        "--log-dir",
        metavar="DIR",
        type=a_path,
        default="hccl_logs",
        help="where each run gets a folder with a log for each rank (default: hccl_logs)",
    )
    add_log_limits(logs)
    parser.add_argument("--dry-run", action="store_true", help="print what each rank gets, as lines for a shell")
    return parser


def run_job(request: RunRequest) -> int:
    """Start the ranks and look after them; returns the exit code of the job.

    Raises KitError, with nothing started, if the job could not start.
    """
    job = table_of_job(request.table, request.devices, request.product, simulate=request.simulate)
    made = _plan(request, job.table)
    request.on_servers.check(len(made.nodes), request.table or "-", request.limits.max_restarts)
    if request.limits.asks:
        check_verdict(request.limits.max_restarts, os.environ)
    number = number_of(made, request.on_servers.server)
    port = _port(request.master_port, os.environ, made)
    check(made, os.environ, request.env, request.limits.bind)
    if request.on_servers.from_here:
        return _run_on_servers(request, job, made, port)
    if port is None and len(made.nodes) > 1:
        port = port_of_digest(job.file.sha256)  # each server finds it alone
    if request.preflight:
        check_server(job)
    folder = Path("RUN") if request.dry_run else make_log_folder(request.log_dir, complain)
    path = job.path or folder / job.file.name
    assignment = assign(
        made,
        os.environ,
        table=path,
        folder=folder,
        host=printable(socket.gethostname()),
        node=number,
        port=port,
        limits=request.limits,
        extra=request.env,
    )
    for note in _notes(made, os.environ):
        complain(note)
    if request.dry_run:
        print(*as_shell(assignment, os.environ), sep="\n")
        return EXIT_OK
    if job.path is None:
        write_atomically(path, job.file.text)
    return _supervised(assignment)


def _run_on_servers(request: RunRequest, job: TableOfJob, made: LaunchPlan, port: int | None) -> int:
    folder = Path("RUN") if request.dry_run else make_log_folder(request.log_dir, complain)
    replan = partial(_plan, request)
    placement, way, environ = prepare(
        request.on_servers, Placement(job.table, job.file), replan, complain, preflight=request.preflight
    )
    prepared = ServersJob(
        placement,
        replan,
        way,
        environ,
        folder,
        Path(os.environ.get("PWD") or Path.cwd()),  # with symbolic links, as the user entered it
        port,
        request.limits,
        request.env,
    )
    for note in _notes(made, os.environ):
        complain(note)
    if request.dry_run:
        show(prepared)
        return EXIT_OK
    over = run_servers(prepared)
    _diagnose(over, folder)
    return over.code


def _diagnose(over: Job, folder: Path) -> None:
    if over.code and not isinstance(over.cause, Signalled):
        with suppress(KeyboardInterrupt):  # it never changes the exit code of the job
            diagnose(folder, over)


def _supervised(assignment: Assignment) -> int:
    folder, asks = Path(assignment.folder), assignment.limits.asks
    try:
        over = supervise(assignment, (lambda failed: verdict(folder, failed).objection) if asks else None)
    except PortError as error:
        hint = Message("run.port.fix", "unset {name}, or leave out --master-port, to use a free port", name=_PORT)
        raise KitError("run.port", "{reason}", hint=hint, reason=error) from error
    except OSError as error:
        raise KitError("run.log", "cannot write the logs: {reason}", reason=error) from error
    _diagnose(over, folder)
    return over.code


def _request(words: Sequence[str], command: tuple[str, ...] | None) -> RunRequest:
    given = vars(make_parser().parse(words))
    if given["table"] is None and given["devices"] is None:
        raise KitError(
            "run.no-table",
            "give a rank table, or --devices",
            fix='hccl-kit run --devices "[0,8)" -- python train.py',
        )
    if given["table"] is not None and given["devices"] is not None:
        raise KitError(
            "run.two-tables",
            "{table} is taken for a rank table, and --devices makes one too",
            fix="give one of them; words of the command follow --",
            table=given["table"],
        )
    if given["table"] is not None and (given["product"] or given["simulate"]):
        raise KitError("run.made-table", "--product and --simulate are for --devices, not for a table")
    limits = Limits(**{field: given.pop(field) for field in Limits._fields})
    servers = OnServers(**{field: given.pop(field) for field in OnServers._fields})
    return RunRequest(command=command_of(command, complain), limits=limits, on_servers=servers, **given)


def _extra(text: str) -> Extra:
    match = _VARIABLE.fullmatch(text)
    if match is None:
        raise KitError("run.variable", "--env {text}; accepted: NAME=VALUE, or RANK:NAME=VALUE", text=shown(text[:80]))
    return Extra(match["name"], match["value"], None if match["rank"] is None else int(match["rank"]))


def _plan(request: RunRequest, table: RankTable) -> LaunchPlan:
    variables = script_variables(table, request.job, request.jobs)
    framework = framework_of(request.framework, request.command, FRAMEWORKS, complain)
    return plan(table, request.command, variables, framework)


def _port(given: int | None, environ: Mapping[str, str], made: LaunchPlan) -> int | None:
    """The port of rank 0 that the user has named, as option, as variable or by the number of the job."""
    of_user = parse_integer(_PORT, environ[_PORT], least=1) if environ.get(_PORT) else None
    port = given or of_user or made.master_port
    if port is not None and not 0 < port <= 65535:
        raise KitError("run.no-port", "port {port}; accepted: 1 to 65535", port=port)
    return port


def _notes(made: LaunchPlan, environ: Mapping[str, str]) -> Iterator[str]:
    if VISIBLE_DEVICES in environ and not made.limits_cards:
        value = printable(environ[VISIBLE_DEVICES][:80])
        yield Message(
            "run.visible-removed",
            "note: {name}={value} is removed, because the card numbers of the ranks count all cards; programs of torch"
            " need --framework {framework}",
            name=VISIBLE_DEVICES,
            value=value,
            framework=PYTORCH,
        )
    if note := note_on_cards(made):
        yield note


if __name__ == "__main__":
    raise SystemExit(main())
