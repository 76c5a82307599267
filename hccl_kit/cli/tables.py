"""Reading tables that must be valid, and writing tables that are checked by the same rules."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import printable
from hccl_kit.check.engine import check_table, check_text
from hccl_kit.check.result import Report
from hccl_kit.check.rule import TOPOLOGY
from hccl_kit.check.rules import RULE_BY_ID
from hccl_kit.cli import complain
from hccl_kit.cli.command import next_step
from hccl_kit.launch.files import TableFile
from hccl_kit.table.finding import Finding
from hccl_kit.table.model import RankTable
from hccl_kit.table.operations.generate import file_name
from hccl_kit.table.products import ANY_PRODUCT, DEFAULT_PRODUCT, Product, find_product
from hccl_kit.table.reading import load

MAX_WARNINGS = 20
SIMULATED = "HK322"
"""The rule about addresses that no network has."""


def read_table(file: str) -> RankTable:
    """The table in `file` ("-" is standard input). Raises KitError with its first error if it is not valid."""
    return _valid(file, _report(file))


def needs_table(program: str) -> KitError:
    """The error of a program that has --ssh and no table."""
    return KitError(
        "cli.tables.ssh-needs-table",
        "--ssh needs a rank table that lists the servers",
        fix="{program} TABLE --ssh",
        program=program,
    )


def table_file(
    given: str, product: Product | None, silent: Collection[str] = ()
) -> tuple[RankTable, TableFile, list[str]]:
    """The table of a job, its file, and the warnings about it, except those of the rules in `silent`.

    Without a product they say too that the default product cannot link its cards. Raises KitError with its first error,
    or if HCCL does not read a file of this name.
    """
    data, name = load(given)
    report = check_text(data, name, product)
    table = _valid(given, report)
    lines = _lines([finding for finding in _warnings(report) if finding.rule not in silent])
    if product is None and report.product == ANY_PRODUCT and (topology := _topology_warning(data, name)):
        lines.append(topology)
    file = Path(given).resolve().name if given != "-" else file_name(table)
    if not file.endswith(".json"):
        raise KitError(
            "cli.launch-steps.hccl-reads-rank",
            "HCCL only reads rank tables whose name ends in .json, got {file!r}",
            hint=shlex.join(["mv", "--", given, str(Path(given).with_suffix(".json"))]),
            file=file,
        )
    return table, TableFile(file, data.decode()), lines


def _warnings(report: Report) -> list[Finding]:
    return [finding for finding in report.findings if finding.severity == "warning"]


def _lines(warnings: Sequence[Finding]) -> list[str]:
    lines = [rule_warning(finding) for finding in warnings[:MAX_WARNINGS]]
    more = len(warnings) - MAX_WARNINGS
    rest = Message("cli.tables.more-warnings", "warning: {more} more; hccl-check reports all", more=more)
    return [*lines, *([rest] if more > 0 else [])]


def rule_warning(finding: Finding) -> str:
    """A warning or note of a rule as a line of a program that goes on."""
    text, rule = finding.message, finding.rule
    if finding.severity == "note":
        return printable(Message("cli.tables.note", "note: {rule}: {text}", rule=rule, text=text))
    return printable(Message("cli.tables.warning", "warning: {rule}: {text}", rule=rule, text=text))


def _topology_warning(data: bytes, name: str) -> str | None:
    for finding in check_text(data, name, find_product(DEFAULT_PRODUCT)).findings:
        if finding.severity == "error" and RULE_BY_ID[finding.rule].family == TOPOLOGY:
            return printable(
                Message(
                    "cli.tables.topology",
                    "warning: {rule}: {text}; this is for {product}, --product NAME chooses another",
                    rule=finding.rule,
                    text=finding.message,
                    product=DEFAULT_PRODUCT,
                )
            )
    return None


def read_any_table(file: str) -> RankTable:
    """The table in `file`, valid or not. Raises KitError if the file contains no readable table."""
    return _table(file, _report(file))


def valid_text(
    table: RankTable,
    name: str,
    product: Product | None = None,
    *,
    strict_topology: bool = False,
    silent: Collection[str] = (),
) -> str:
    """The text of a new table for the file `name`; its warnings are printed, except those of the rules in `silent`.

    Raises KitError if it has an error; with `strict_topology` a warning on topology is one.
    """
    text, report = check_table(table, name, product)
    for finding in report.findings:
        if finding.severity == "error" or (strict_topology and RULE_BY_ID[finding.rule].family == TOPOLOGY):
            raise KitError(
                "cli.tables.table-written",
                "{rule}: {reason}, in the table to be written",
                hint=finding.hint,
                rule=finding.rule,
                reason=finding.message,
            )
    for line in _lines([finding for finding in _warnings(report) if finding.rule not in silent]):
        complain(line)
    return text


def _valid(file: str, report: Report) -> RankTable:
    first = next((finding for finding in report.findings if finding.severity == "error"), None)
    if first is not None:
        raise _refused(file, report, first)
    return _table(file, report)


def _report(file: str) -> Report:
    data, name = load(file)
    return check_text(data, name)


def _table(file: str, report: Report) -> RankTable:
    if report.table is None:
        raise _refused(file, report, report.findings[0])
    return report.table


def _refused(file: str, report: Report, finding: Finding) -> KitError:
    place = f"{report.name}:{finding.span.line}:{finding.span.column}"
    return KitError(
        "cli.tables.reason",
        "{place}: {rule}: {reason}",
        fix="hccl-check {quote}",
        place=place,
        rule=finding.rule,
        reason=finding.message,
        quote=shlex.quote(file),
    )


def steps_of_table(path: Path, servers: int) -> list[str]:
    """The ways to start a job of a table that was written without a script."""
    table = shlex.quote(str(path))
    start = f"hccl-kit run {table} --ssh" if servers > 1 else f"hccl-kit run {table}"
    return [
        next_step(f"{start} -- COMMAND"),
        Message(
            "cli.tables.or-script",
            "  or: {step}, which writes a script",
            step=f"hccl-kit launch {table} --to bash -- COMMAND",
        ),
    ]
