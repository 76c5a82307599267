"""The steps that hccl-kit preflight takes with and without --mpi: read the table, print the report."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.errors import EXIT_CANNOT_RUN, EXIT_FINDINGS, EXIT_OK, KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import wants_color
from hccl_kit.check.engine import check_text
from hccl_kit.check.report.text import as_text as table_as_text
from hccl_kit.check.selection import narrowed, selection
from hccl_kit.cli import complain
from hccl_kit.diagnosis.catalogue import CATALOGUE
from hccl_kit.preflight.answer import Answer
from hccl_kit.preflight.cluster_rules import CLUSTER_RULES
from hccl_kit.preflight.job import PreflightJob, Refused
from hccl_kit.preflight.json_form import Subject, as_json
from hccl_kit.preflight.rules import NODE_RULES
from hccl_kit.preflight.text import all_as_text, as_text
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
    format: str
    select: Sequence[str] | None
    ignore: Sequence[str] | None
    strict: bool | None
    quiet: bool
    all: bool
    mpi: bool
    ssh_option: Sequence[str]
    remote: str | None
    timeout: float


def open_job(request: PreflightRequest) -> PreflightJob | Refused:
    """The table, and what to report of the checks."""
    select, ignore = selection(request.select, request.ignore or (), CATALOGUE)
    _assert_selects_a_check(select, ignore, has_cluster_rules=request.all or request.mpi)
    data, name = load(request.table)
    report = narrowed(check_text(data, name, request.product), ignore=ignore)
    if not report.ok or report.table is None:
        return Refused(report, data)
    product = any_product() if report.product == ANY_PRODUCT else find_product(report.product)
    path = request.path or (None if request.table == "-" else request.table)
    absolute = Path(os.path.abspath(path)) if path else None  # noqa: PTH100 - resolve() follows links; HK602 reports them
    return PreflightJob(
        name, data, report.table, product, absolute, select, ignore, bool(request.strict), request.quiet
    )


def print_answers(
    job: PreflightJob,
    answers: Sequence[Answer],
    differences: Sequence[Finding] | None,
    form: str,
    *,
    color: bool = False,
) -> int:
    """Print the report; returns the exit code. `differences` are None if this machine alone was checked."""
    answers = [one._replace(report=job.selected_report(one.report)) for one in answers]
    differing = job.selected(differences or ())
    unknown = any(one.error is not None for one in answers)
    failed = any(not one.report.ok for one in answers) or any(found.severity == "error" for found in differing)
    if form == "json":
        print(as_json(Subject(job.file, job.digest, job.product.name), answers, differing))
    elif job.quiet and not (unknown or failed):
        pass
    elif differences is None:
        print(as_text(answers[0], color))
    else:
        print(all_as_text(answers, differing, color))
    if unknown:
        return EXIT_CANNOT_RUN
    return EXIT_FINDINGS if failed else EXIT_OK


def print_refused(refused: Refused, form: str) -> int:
    """Print the errors of the table; returns the exit code."""
    report, data = refused
    if form == "json":
        subject = Subject(report.name, hashlib.sha256(data).hexdigest(), report.product)
        print(as_json(subject, (), table_findings=[_with_place(one) for one in report.findings]))
    else:
        print(table_as_text(report, decode(data), wants_color(sys.stdout)))
        complain("fix the table first; no machine was checked")
    return EXIT_FINDINGS


def _assert_selects_a_check(select: frozenset[str] | None, ignore: frozenset[str], *, has_cluster_rules: bool) -> None:
    """Raises KitError if no check of this run is selected: nothing would be checked, and everything would look fine."""
    of_node = {rule.id for rule in NODE_RULES}
    of_cluster = {rule.id for rule in CLUSTER_RULES}
    runs = of_node | of_cluster if has_cluster_rules else of_node
    kept = (select if select is not None else runs) - ignore
    if kept & runs:
        return
    if kept & of_cluster:
        hint = Message(
            "cli.preflight-steps.select-ignore-leave.fix",
            "{min} compares servers: add --all, or run it with mpirun and --mpi",
            min=min(kept & of_cluster),
        )
    else:
        hint = Message(
            "cli.preflight-steps.select-ignore-leave.fix-2",
            "the checks of machines are {min} to {max}; hccl-check --select checks a table",
            min=min(of_node),
            max=max(of_node),
        )
    raise KitError(
        Message("cli.preflight-steps.select-ignore-leave", "--select and --ignore leave no check of this machine"),
        hint=hint,
    )


def _with_place(one: Finding) -> Finding:
    return one._replace(message=f"line {one.span.line}, column {one.span.column}: {one.message}")
