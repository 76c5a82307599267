"""A valid table that servers are checked against, and which findings of the checks are reported."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.check.result import Report as TableReport
from hccl_kit.preflight.answer import Report
from hccl_kit.preflight.node import Node, ToolQueries
from hccl_kit.preflight.probes.this_server import find_server
from hccl_kit.preflight.site import NO_RULES, Site
from hccl_kit.runtime.worker_env import SERVER
from hccl_kit.table.finding import Finding
from hccl_kit.table.model import RankTable
from hccl_kit.table.products import Product


class PreflightJob(NamedTuple):
    """A valid table: the file as the user named it, its bytes, and its path on every server (None: not known).

    `select` are the rules to report (None: all), without those in `ignore`. `strict` turns warnings into errors, and
    `quiet` drops everything that is not an error then. `site` are the rules of the site.
    """

    file: str
    data: bytes
    table: RankTable
    product: Product
    path: Path | None
    select: frozenset[str] | None
    ignore: frozenset[str]
    strict: bool
    quiet: bool
    site: Site = NO_RULES

    @property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        return hashlib.sha256(self.data).hexdigest()

    def node(self, environ: Mapping[str, str], server: str | None) -> Node:
        """This machine, as `server` of the table if it is named.

        Raises KitError if the table has no such server.
        """
        wanted = server or environ.get(SERVER)
        return Node(self.table, self.product, find_server(self.table, wanted), environ, ToolQueries(), path=self.path)

    def selected(self, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """The findings to report, with their severity."""
        kept = [finding for finding in findings if self._selects(finding.rule)]
        if self.strict:
            kept = [
                finding._replace(severity="error") if finding.severity == "warning" else finding for finding in kept
            ]
        return tuple(finding for finding in kept if finding.severity == "error" or not self.quiet)

    def selected_report(self, report: Report) -> Report:
        """The report on a server without the rules that are not selected, or whose findings are not reported: they
        count as neither passed nor skipped.
        """
        findings = self.selected(report.findings)
        silent = {finding.rule for finding in report.findings} - {finding.rule for finding in findings}
        return report._replace(
            findings=findings,
            checked=tuple(rule for rule in report.checked if self._selects(rule) and rule not in silent),
            skipped=tuple(pair for pair in report.skipped if self._selects(pair[0])),
        )

    def _selects(self, rule: str) -> bool:
        return rule not in self.ignore and (not self.select or rule in self.select)


class Refused(NamedTuple):
    """A table with errors, against which no server is checked; and its bytes."""

    report: TableReport
    data: bytes
