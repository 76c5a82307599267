"""Check this machine, or every server of a rank table, before a job starts.

examples:
  hccl-kit preflight hccl_2s_16p.json --product 910
  hccl-kit preflight hccl_2s_16p.json --all --ssh-option User=train
  mpirun --map-by ppr:1:node hccl-kit preflight hccl_2s_16p.json --mpi

Nothing is changed and no process is ended. RULES are as in hccl-check. HCCL_KIT_SSH replaces ssh,
as in "ssh -F FILE". `hccl-kit explain HK604` explains a finding.

Exit codes: 0 no error; 1 errors; 2 a server or the table could not be checked.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from hccl_kit.base.arguments import Parser
from hccl_kit.base.terminal import wants_color
from hccl_kit.cli import exit_code_of
from hccl_kit.cli.options import add_product, add_remote, add_selection, add_timeout
from hccl_kit.cli.preflight_steps import PreflightRequest, open_job, print_answers, print_refused
from hccl_kit.preflight.answer import answer
from hccl_kit.preflight.job import Refused
from hccl_kit.runtime.worker_env import SERVER


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)

    def read() -> PreflightRequest:
        return PreflightRequest(**vars(make_parser().parse(words)))

    def program() -> int:
        if "--mpi" in words:  # the processes read the request together, so that an error in it is printed once
            from hccl_kit.cli.preflight_mpi import preflight_by_mpi  # noqa: PLC0415 - starts MPI

            return preflight_by_mpi(read)
        return _preflight(read())

    return exit_code_of(program)


def _preflight(request: PreflightRequest) -> int:
    job = open_job(request)
    if isinstance(job, Refused):
        return print_refused(job, request.format)
    color = wants_color(sys.stdout)
    if request.all:
        from hccl_kit.preflight.by_ssh import Ssh, check_servers  # noqa: PLC0415 - most runs check one machine

        ssh = Ssh(request.ssh_option, request.remote, request.timeout)
        answers, differences = check_servers(job, request.server, ssh)
        return print_answers(job, answers, differences, request.format, color=color)
    return print_answers(job, [answer(job.node(os.environ, request.server))], None, request.format, color=color)


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit preflight", doc=__doc__)
    parser.add_argument("table", metavar="TABLE", help='the rank table, or "-" for standard input')
    add_product(parser, "the hardware that the table is for")
    parser.add_argument(
        "--server", metavar="ID", help=f"which server of the table this machine is (default: {SERVER}, else detected)"
    )
    parser.add_argument("--path", metavar="FILE", help="where the ranks will find the table (default: TABLE)")
    parser.add_argument(
        "--format", choices=["text", "json"], default="text", help="format of the report (default: text)"
    )
    add_selection(parser)
    _add_cluster_options(parser.add_argument_group("all servers of the table"))
    return parser


def _add_cluster_options(group: argparse._ArgumentGroup) -> None:
    how = group.add_mutually_exclusive_group()
    how.add_argument("--all", action="store_true", help="check every server over ssh, and compare them")
    how.add_argument(
        "--mpi", action="store_true", help="check every server under mpirun, which starts one process on each"
    )
    add_remote(group)
    add_timeout(group, 60.0)
