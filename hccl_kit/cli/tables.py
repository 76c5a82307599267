"""Tables that a verb works on, judged before, and those that it makes, judged by the same rules."""

from __future__ import annotations

import shlex

from hccl_kit.base.errors import KitError
from hccl_kit.base.terminal import printable
from hccl_kit.check.engine import Report, check_text
from hccl_kit.check.rules import ANY_PRODUCT
from hccl_kit.cli import complain
from hccl_kit.table.finding import Diagnostic
from hccl_kit.table.formats import write
from hccl_kit.table.model import RankTable
from hccl_kit.table.products import DEFAULT_PRODUCT, Product, find_product
from hccl_kit.table.reading import load

MAX_WARNINGS = 20
TOPOLOGY = "HK4"
"""The family of rules on the cards that a product can link."""


def read_table(file: str) -> RankTable:
    """The sound table in `file` ("-" is standard input); KitError names the first error in it."""
    return _sound(file, _report(file))


def sound_table(data: bytes, name: str, file: str, product: Product | None = None) -> RankTable:
    """The sound table in the bytes of `file`, which messages call `name`; KitError names the first error in it."""
    return _sound(file, check_text(data, name, product))


def topology_warning(data: bytes, name: str) -> str | None:
    """What the default product has against the cards of a table that does not tell its product."""
    if check_text(data, name).product != ANY_PRODUCT:
        return None
    for found in check_text(data, name, find_product(DEFAULT_PRODUCT)).diagnostics:
        if found.severity == "error" and found.rule.startswith(TOPOLOGY):
            return printable(
                f"warning: {found.rule}: {found.message}; this holds for {DEFAULT_PRODUCT},"
                " and --product NAME judges by another"
            )
    return None


def read_any_table(file: str) -> RankTable:
    """The table in `file`, sound or not; KitError where the document holds none that could be read."""
    return _table(file, _report(file))


def sound_text(table: RankTable, name: str, product: Product | None = None) -> str:
    """The text of a file `name` of a table that a verb made, after its warnings are told; KitError for an error."""
    text = write(table)
    report = check_text(text, name, product)
    wrong = _first_error(report)
    if wrong is not None:
        raise KitError(f"the table that this makes would break {wrong.rule}: {wrong.message}", hint=wrong.hint)
    warnings = [found for found in report.diagnostics if found.severity == "warning"]
    for found in warnings[:MAX_WARNINGS]:
        complain(printable(f"warning: {found.rule}: {found.message}"))
    if len(warnings) > MAX_WARNINGS:
        complain(f"warning: {len(warnings) - MAX_WARNINGS} more of these; hccl-check tells all")
    return text


def _sound(file: str, report: Report) -> RankTable:
    first = _first_error(report)
    if first is not None:
        raise _refused(file, report, first)
    return _table(file, report)


def _report(file: str) -> Report:
    data, name = load(file)
    return check_text(data, name)


def _table(file: str, report: Report) -> RankTable:
    if report.table is None:
        raise _refused(file, report, report.diagnostics[0])
    return report.table


def _first_error(report: Report) -> Diagnostic | None:
    return next((found for found in report.diagnostics if found.severity == "error"), None)


def _refused(file: str, report: Report, found: Diagnostic) -> KitError:
    place = f"{report.name}:{found.span.line}:{found.span.column}"
    return KitError(f"{place}: {found.rule}: {found.message}", hint=f"hccl-check {shlex.quote(file)}")
