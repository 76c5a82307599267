"""Check this machine, or every server of a rank table, before a job starts.

examples:
  hccl-kit preflight hccl_2s_16p.json --product 910
  hccl-kit preflight hccl_2s_16p.json --all --ssh-option User=train
  hccl-kit preflight hccl_2s_16p.json --cards
  mpirun --map-by ppr:1:node hccl-kit preflight hccl_2s_16p.json --mpi

Nothing is changed and no process is ended. RULES are as in hccl-check. HCCL_KIT_SSH replaces ssh,
as in "ssh -F FILE". `hccl-kit explain HK604` explains a finding.

Exit codes: 0 no error; 1 errors; 2 a server or the table could not be checked.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.base.arguments import Parser
from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import wants_color
from hccl_kit.check.engine import check_text
from hccl_kit.check.report.text import as_text as table_as_text
from hccl_kit.check.rule import Rule, run
from hccl_kit.check.selection import narrowed, selection
from hccl_kit.cli import complain, exit_code_of
from hccl_kit.cli.options import add_format, add_product, add_reach, add_selection, add_timeout
from hccl_kit.cli.settings import settings_for
from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.discovery.mpi_group import MpiGroup
from hccl_kit.preflight import all_servers
from hccl_kit.preflight.all_servers import check_cards, check_servers, machines_of
from hccl_kit.preflight.answer import Answer
from hccl_kit.preflight.card_round import CardRound, plan_of
from hccl_kit.preflight.card_rules import CARD_RULES
from hccl_kit.preflight.cluster_rules import CLUSTER_RULES
from hccl_kit.preflight.job import PreflightJob, Refused
from hccl_kit.preflight.reports import Subject, all_as_text, as_json, as_text, cards_as_text, plan_as_text
from hccl_kit.preflight.rules import NODE_RULES
from hccl_kit.preflight.site import NO_RULES, read_site
from hccl_kit.preflight.site_rules import SITE_RULE, answer_here, judged
from hccl_kit.remote.probe import Reach
from hccl_kit.runtime.worker_env import SERVER
from hccl_kit.table.document import decode
from hccl_kit.table.finding import Finding
from hccl_kit.table.products import ANY_PRODUCT, Product, any_product, find_product
from hccl_kit.table.reading import load


class PreflightRequest(NamedTuple):
    """The command line of hccl-kit preflight; a field for each option. `product` is None for "auto"."""

    table: str
    product: Product | None
    server: str | None
    path: str | None
    form: str
    select: Sequence[str] | None
    ignore: Sequence[str] | None
    strict: bool | None
    quiet: bool
    all: bool
    mpi: bool
    cards: bool
    all_pairs: bool
    dry_run: bool
    ssh_option: Sequence[str]
    python: Sequence[str]
    timeout: float


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)

    def read() -> PreflightRequest:
        return PreflightRequest(**vars(make_parser().parse(words)))

    # The processes of mpirun read the request together, so that an error in it is printed once.
    return exit_code_of(lambda: _preflight_by_mpi(read) if "--mpi" in words else _preflight(read()))


def make_parser() -> Parser:
    """The options of the program."""
    parser = Parser(prog="hccl-kit preflight", doc=__doc__)
    parser.add_argument("table", metavar="TABLE", help='the rank table, or "-" for standard input')
    add_product(parser, "the hardware that the table is for")
    parser.add_argument(
        "--server", metavar="ID", help=f"which server of the table this machine is (default: {SERVER}, else detected)"
    )
    parser.add_argument("--path", metavar="FILE", help="where the ranks will find the table (default: TABLE)")
    add_format(parser, "the report")
    add_selection(parser)
    _add_cluster_options(parser.add_argument_group("all servers of the table"))
    return parser


def _add_cluster_options(group: argparse._ArgumentGroup) -> None:
    how = group.add_mutually_exclusive_group()
    how.add_argument("--all", action="store_true", help="check every server over ssh, and compare them")
    how.add_argument(
        "--mpi", action="store_true", help="check every server under mpirun, which starts one process on each"
    )
    group.add_argument("--cards", action="store_true", help="do what --all does, then let the cards ping each other")
    group.add_argument(
        "--all-pairs", action="store_true", help="let cards of all numbers ping each other; needs --cards"
    )
    group.add_argument(
        "--dry-run", action="store_true", help="print how many pings --cards makes and how long they take"
    )
    add_reach(group)
    add_timeout(group, 60.0)


def _preflight(request: PreflightRequest) -> int:
    job = _open_job(request)
    if isinstance(job, Refused):
        return _print_refused(job, request.form)
    color = wants_color(sys.stdout)
    plan = plan_of(job.table, job.product, all_pairs=request.all_pairs) if request.cards else None
    if plan and request.dry_run:
        print(plan_as_text(plan, job.table.world_size))
        return EXIT_OK
    if not _asks_all(request):
        return _print_answers(job, [answer_here(job, os.environ, request.server)], None, request.form, color=color)
    reach = Reach.of(request.ssh_option, request.python, request.timeout)
    answers, differences = check_servers(job, request.server, reach)
    if job.site:
        machines, silent = machines_of(job.table, reach, request.server)
        answers = [judged(answer, job, machines.get(answer.server) or silent[answer.server]) for answer in answers]
    cards = check_cards(job, request.server, reach, plan) if plan else None
    return _print_answers(job, answers, differences, request.form, color=color, cards=cards)


def _asks_all(request: PreflightRequest) -> bool:
    return request.all or request.cards


def _preflight_by_mpi(read: Callable[[], PreflightRequest]) -> int:
    """Check this server; process 0 prints the report on all. The exit code is the same on every process.

    Raises KitError if MPI cannot be started.
    """
    group = MpiGroup()
    with group.abort_on_error():
        job, form, answer = _check_this(read)
        message = all_servers.message(group, answer)
        return group.conclude(message, lambda messages: exit_code_of(lambda: _report(job, messages, form)))


def _check_this(read: Callable[[], PreflightRequest]) -> tuple[PreflightJob | Refused | KitError, str, Answer]:
    """The table as this process reads it, the format of the report, and the answer of this server."""
    form = "text"
    try:
        request = read()
        form = request.form
        if request.table == "-":
            raise KitError(
                "cli.preflight.mpi-cannot-read",
                "--mpi cannot read the table from standard input: every process needs the file",
            )
        job = _open_job(request)
        return job, form, all_servers.check_server(job, request.server)
    except KitError as error:
        return error, form, all_servers.no_answer(error.message)


def _report(job: PreflightJob | Refused | KitError, messages: Sequence[Mapping[str, Any]], form: str) -> int:
    if isinstance(job, KitError):
        raise job
    if isinstance(job, Refused):
        return _print_refused(job, form)
    # Without colors: mpirun makes standard output a terminal here, even if its own is a file.
    return _print_answers(job, *all_servers.compare_servers(job, messages), form)


def _open_job(request: PreflightRequest) -> PreflightJob | Refused:
    """The table, and what to report of the checks."""
    if (request.ssh_option or request.python) and not _asks_all(request):
        raise KitError("cli.preflight.only-with-all", "--ssh-option and --python need --all, which asks over ssh")
    if (request.all_pairs or request.dry_run) and not request.cards:
        raise KitError("cli.preflight.only-with-cards", "--all-pairs and --dry-run need --cards, which makes the pings")
    if request.cards and request.mpi:
        raise KitError("cli.preflight.cards-over-ssh", "--cards asks over ssh, and not with --mpi")
    select, ignore = selection(request.select, request.ignore or (), CATALOGUE)
    rules = settings_for(request.table).site_rules
    site = read_site(Path(rules)) if rules else NO_RULES
    _assert_selects_a_check(select, ignore, _rules_of(request) | ({SITE_RULE.id} if site else set()))
    data, name = load(request.table)
    report = narrowed(check_text(data, name, request.product), ignore=ignore)
    if not report.ok or report.table is None:
        return Refused(report, data)
    product = any_product() if report.product == ANY_PRODUCT else find_product(report.product)
    path = request.path or (None if request.table == "-" else request.table)
    absolute = Path(os.path.abspath(path)) if path else None  # noqa: PTH100 - resolve() follows links; HK602 reports them
    return PreflightJob(
        name, data, report.table, product, absolute, select, ignore, bool(request.strict), request.quiet, site
    )


def _print_answers(
    job: PreflightJob,
    answers: Sequence[Answer],
    differences: Sequence[Finding] | None,
    form: str,
    *,
    color: bool = False,
    cards: CardRound | None = None,
) -> int:
    """Print the report; returns the exit code. `differences` are None if this machine alone was checked."""
    answers = [answer._replace(report=job.selected_report(answer.report)) for answer in answers]
    differing = job.selected(differences or ())
    of_cards = job.selected([*run(CARD_RULES, job.product.name, cards)]) if cards else ()
    unknown = any(answer.error is not None for answer in answers) or bool(cards and cards.silent)
    failed = any(not answer.report.ok for answer in answers) or any(
        finding.severity == "error" for finding in (*differing, *of_cards)
    )
    if form == "json":
        print(as_json(Subject(job.file, job.digest, job.product.name), answers, (*differing, *of_cards), cards=cards))
    elif job.quiet and not (unknown or failed):
        pass
    elif differences is None:
        print(as_text(answers[0], color))
    else:
        print(all_as_text(answers, differing, color))
        if cards:
            print(cards_as_text(cards, of_cards, color))
    if unknown:
        return EXIT_CANNOT_RUN
    return EXIT_FINDINGS if failed else EXIT_OK


def _print_refused(refused: Refused, form: str) -> int:
    """Print the errors of the table; returns the exit code."""
    report, data = refused
    if form == "json":
        subject = Subject(report.name, hashlib.sha256(data).hexdigest(), report.product)
        print(as_json(subject, (), table_findings=[_with_place(finding) for finding in report.findings]))
    else:
        print(table_as_text(report, decode(data), wants_color(sys.stdout)))
        complain(Message("cli.preflight.table-first", "fix the table first; no machine was checked"))
    return EXIT_FINDINGS


def _rules_of(request: PreflightRequest) -> frozenset[str]:
    """The ids of the rules that this run checks."""
    of_cluster = CLUSTER_RULES if _asks_all(request) or request.mpi else ()
    of_cards = CARD_RULES if request.cards else ()
    rules: tuple[Rule[...], ...] = (*NODE_RULES, *of_cluster, *of_cards)
    return frozenset(rule.id for rule in rules)


def _assert_selects_a_check(select: frozenset[str] | None, ignore: frozenset[str], runs: frozenset[str]) -> None:
    """Raises KitError if no check of this run is selected: nothing would be checked, and everything would look fine."""
    kept = (select if select is not None else runs) - ignore
    if kept & runs:
        return
    of_cluster = kept & {rule.id for rule in CLUSTER_RULES}
    if of_cluster:
        hint = Message(
            "cli.preflight.select-ignore-leave.fix",
            "{min} compares servers: add --all, or run it with mpirun and --mpi",
            min=min(of_cluster),
        )
    elif kept & {rule.id for rule in CARD_RULES}:
        hint = Message(
            "cli.preflight.select-ignore-leave.fix-3", "{min} is about all cards: add --cards", min=min(kept)
        )
    elif SITE_RULE.id in kept:
        hint = Message(
            "cli.preflight.select-ignore-leave.fix-4",
            '{rule} needs a file of site rules: site-rules = "FILE" in .hccl-kit.toml',
            rule=SITE_RULE.id,
        )
    else:
        hint = Message(
            "cli.preflight.select-ignore-leave.fix-2",
            "the checks of machines are {min} to {max}; hccl-check --select checks a table",
            min=NODE_RULES[0].id,
            max=NODE_RULES[-1].id,
        )
    raise KitError(
        "cli.preflight.select-ignore-leave", "--select and --ignore leave no check of this machine", hint=hint
    )


def _with_place(finding: Finding) -> Finding:
    place = f"line {finding.span.line}, column {finding.span.column}"
    return finding._replace(message=f"{place}: {finding.message}")
