"""Rank tables in files: only a valid table is read, and only a valid one is written."""

from __future__ import annotations

from pathlib import Path

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.bounded_file import read_start
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.check.engine import check_table, check_text
from hccl_kit.check.result import Report
from hccl_kit.table.model import RankTable
from hccl_kit.table.products import Product
from hccl_kit.table.source import MAX_BYTES


def read(path: str | Path, product: Product | None = None) -> RankTable:
    """The table in a file, if it has no error for `product` (None: as `check_text`).

    Raises KitError with the place and the message of the first error, or if the file holds no table that is ready.
    """
    # One byte more than is accepted, so that check_text reports what is too large.
    report = check_text(read_start(Path(path), MAX_BYTES + 1), str(path), product)
    _refuse_errors(report)
    if report.table is None:
        raise KitError(_first(report, "warning"))
    return report.table


def write(table: RankTable, path: str | Path, product: Product | None = None) -> None:
    """Write the table to a file, which holds the old content or the whole table at every moment.

    Raises KitError if the table has an error for `product` (None: as `check_text`), or if it cannot be written.
    """
    text, report = check_table(table, str(path), product)
    _refuse_errors(report)
    write_atomically(Path(path), text)


def _refuse_errors(report: Report) -> None:
    if not report.ok:
        raise KitError(_first(report, "error"))


def _first(report: Report, severity: str) -> Message:
    finding = next(finding for finding in report.findings if finding.severity == severity)
    place = f"{report.name}:{finding.span.line}:{finding.span.column}"
    return Message(
        "check.first-finding", "{place}: {rule}: {message}", place=place, rule=finding.rule, message=finding.message
    )
