"""hccl-kit preflight: hold this machine, or all machines of a table, to the table before a job starts.

    hccl-kit preflight hccl_2s_16p.json
    hccl-kit preflight hccl_2s_16p.json --all
    mpirun --map-by ppr:1:node hccl-kit preflight hccl_2s_16p.json --mpi

Exit code 0: no error. 1: errors, in the table or on a machine. 2: something could not be looked at.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.terminal import wants_color
from hccl_kit.check.engine import Report, any_product, check_text
from hccl_kit.check.report import as_text as table_as_text
from hccl_kit.check.rules import ANY_PRODUCT
from hccl_kit.check.selection import narrowed, selection
from hccl_kit.cli import complain, run
from hccl_kit.cli.product_option import add_product_option, chosen_product
from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.preflight.answer import Answer, answer
from hccl_kit.preflight.cluster_rules import ACROSS_RULES
from hccl_kit.preflight.inspection import Found
from hccl_kit.preflight.inspection import Report as NodeReport
from hccl_kit.preflight.json_form import Subject, as_json
from hccl_kit.preflight.node import Node
from hccl_kit.preflight.probes.this_server import find_server
from hccl_kit.preflight.rules import NODE_RULES
from hccl_kit.preflight.text import all_as_text, as_text
from hccl_kit.preflight.tool_queries import ToolQueries
from hccl_kit.runtime.worker_env import SERVER
from hccl_kit.table.document import decode
from hccl_kit.table.finding import Diagnostic
from hccl_kit.table.model import RankTable
from hccl_kit.table.products import Product, find_product
from hccl_kit.table.reading import load

_EPILOG = """\
examples:
  hccl-kit preflight hccl_2s_16p.json --product 910
  hccl-kit preflight hccl_2s_16p.json --all --ssh-option User=train
  mpirun --map-by ppr:1:node hccl-kit preflight hccl_2s_16p.json --mpi

It looks and tells; it changes nothing and ends no process. HCCL_KIT_SSH replaces ssh, such as "ssh -F FILE".
`hccl-kit explain HK604` tells more about a finding.

Exit code: 0 no error, 1 errors, 2 a machine or the table could not be looked at.
"""


class Job(NamedTuple):
    """A sound table that machines are held to: its file as it was named, its bytes, where it is to lie on each machine
    (None: nobody says), and the rules that are told of.
    """

    file: str
    data: bytes
    table: RankTable
    product: Product
    path: Path | None
    select: frozenset[str] | None
    ignore: frozenset[str]
    strict: bool

    @property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        return hashlib.sha256(self.data).hexdigest()

    def node(self, environ: Mapping[str, str], server: str | None) -> Node:
        """This machine; `server` where the user says which of the table it is."""
        wanted = server or environ.get(SERVER)
        return Node(self.table, self.product, find_server(self.table, wanted), environ, ToolQueries(), path=self.path)

    def narrowed(self, findings: Sequence[Found]) -> tuple[Found, ...]:
        """Those of the rules that were chosen, warnings as errors where that is asked for."""
        kept = [one for one in findings if self._tells_of(one.rule)]
        return tuple(one._replace(severity="error") if self._counts(one) else one for one in kept)

    def narrowed_report(self, report: NodeReport) -> NodeReport:
        """What of a machine is told; a rule that was not chosen is neither fine nor skipped."""
        return report._replace(
            findings=self.narrowed(report.findings),
            checked=tuple(rule for rule in report.checked if self._tells_of(rule)),
            skipped=tuple(pair for pair in report.skipped if self._tells_of(pair[0])),
        )

    def _tells_of(self, rule: str) -> bool:
        return rule not in self.ignore and (not self.select or rule in self.select)

    def _counts(self, found: Found) -> bool:
        return self.strict and found.severity == "warning"


class Refused(NamedTuple):
    """A table with errors, to which no machine is held; and its bytes."""

    report: Report
    data: bytes


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    options = _parser().parse(argv)
    return run(lambda: _preflight(options))


def _preflight(options: argparse.Namespace) -> int:
    if options.mpi:
        from hccl_kit.cli.preflight_mpi import preflight_by_mpi  # noqa: PLC0415 - starts MPI

        return preflight_by_mpi(options)
    job = job_of(options)
    if isinstance(job, Refused):
        return tell_refused(job, options.format)
    if options.all:
        from hccl_kit.cli.preflight_ssh import preflight_over_ssh  # noqa: PLC0415 - most look at one machine

        answers, differences = preflight_over_ssh(job, options)
        return show(job, answers, differences, options.format, color=wants_color(sys.stdout))
    return show(
        job, [answer(job.node(os.environ, options.server))], None, options.format, color=wants_color(sys.stdout)
    )


def show(
    job: Job, answers: Sequence[Answer], differences: Sequence[Found] | None, form: str, *, color: bool = False
) -> int:
    """Print what was found; returns the exit code. `differences` are None where one machine alone was looked at."""
    answers = [one._replace(report=job.narrowed_report(one.report)) for one in answers]
    unlike = job.narrowed(differences or ())
    if form == "json":
        print(as_json(Subject(job.file, job.digest, job.product.name), answers, unlike))
    elif differences is None:
        print(as_text(answers[0], color))
    else:
        print(all_as_text(answers, unlike, color))
    if any(one.error is not None for one in answers):
        return EXIT_CANNOT_RUN
    is_bad = any(not one.report.ok for one in answers) or any(found.severity == "error" for found in unlike)
    return EXIT_FINDINGS if is_bad else EXIT_OK


def job_of(options: argparse.Namespace) -> Job | Refused:
    """The table and how machines are to be held to it."""
    select, ignore = selection(options.select, options.ignore, [rule.id for rule in CATALOGUE])
    _assert_selects_a_check(options, select, ignore)
    data, name = load(options.table)
    report = narrowed(check_text(data, name, chosen_product(options.product)), ignore=ignore)
    if not report.ok or report.table is None:
        return Refused(report, data)
    product = any_product() if report.product == ANY_PRODUCT else find_product(report.product)
    path = options.path or (None if options.table == "-" else options.table)
    where = Path(os.path.abspath(path)) if path else None  # noqa: PTH100 - resolve() would follow links, of which HK602 tells
    return Job(name, data, report.table, product, where, select, ignore, options.strict)


def _assert_selects_a_check(options: argparse.Namespace, select: frozenset[str] | None, ignore: frozenset[str]) -> None:
    """Raises KitError if no check of this run is selected: nothing would be checked, and all would look fine."""
    of_node = {row.rule.id for row in NODE_RULES}
    of_cluster = {row.rule.id for row in ACROSS_RULES}
    runs = of_node | of_cluster if options.all or options.mpi else of_node
    kept = (select if select is not None else runs) - ignore
    if kept & runs:
        return
    if kept & of_cluster:
        hint = f"{min(kept & of_cluster)} compares servers: add --all, or start it with mpirun and --mpi"
    else:
        hint = f"the checks of machines are {min(of_node)} to {max(of_node)}; hccl-check --select checks a table"
    raise KitError("--select and --ignore leave no check of this machine", hint=hint)


def tell_refused(refused: Refused, form: str) -> int:
    """What keeps the table from being used; returns the exit code."""
    report, data = refused
    if form == "json":
        subject = Subject(report.name, hashlib.sha256(data).hexdigest(), report.product)
        print(as_json(subject, (), table_findings=[_as_found(one) for one in report.diagnostics]))
    else:
        print(table_as_text(report, decode(data), wants_color(sys.stdout)))
        complain("no machine was looked at: the table comes first")
    return EXIT_FINDINGS


def _as_found(one: Diagnostic) -> Found:
    place = f"line {one.span.line}, column {one.span.column}: "
    return Found(one.rule, one.severity, place + one.message, one.hint, one.hccl_error)


def _parser() -> Parser:
    parser = Parser(
        prog="hccl-kit preflight",
        description="Look at this machine, or at all machines of a rank table, before a job starts.",
        epilog=_EPILOG,
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=100),
        allow_abbrev=False,
    )
    parser.add_argument("table", metavar="TABLE", help='the rank table; "-" is standard input')
    add_product_option(parser, "as in hccl-check")
    parser.add_argument(
        "--server", metavar="ID", help=f"which server of the table this is (default: {SERVER}, else found)"
    )
    parser.add_argument("--path", metavar="FILE", help="where the ranks will find the table (default: TABLE)")
    parser.add_argument("--format", choices=["text", "json"], default="text", help="of what is told (default: text)")
    which = parser.add_argument_group("which findings are told")
    which.add_argument(
        "--select", metavar="RULES", action="append", help="only of these rules, such as HK60,HK621; repeatable"
    )
    which.add_argument("--ignore", metavar="RULES", action="append", default=[], help="not of these rules; repeatable")
    which.add_argument("--strict", action="store_true", help="warnings are errors")
    everywhere = parser.add_argument_group("all servers of the table")
    way = everywhere.add_mutually_exclusive_group()
    way.add_argument("--all", action="store_true", help="ask every server over ssh, and show what differs")
    way.add_argument("--mpi", action="store_true", help="this is one of the processes of mpirun, one on each server")
    everywhere.add_argument(
        "--ssh-option", metavar="OPTION", action="append", default=[], help="as in ssh -o; repeatable"
    )
    everywhere.add_argument(
        "--remote", metavar="COMMAND", help="hccl-kit on the other servers (default: the one started here)"
    )
    everywhere.add_argument(
        "--timeout", metavar="SECONDS", type=float, default=60.0, help="for one server (default: 60)"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
