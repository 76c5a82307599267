"""A report as workflow commands, which GitHub Actions turns into annotations of the lines of a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hccl_kit.base.terminal import printable
from hccl_kit.check.result import Report
from hccl_kit.table.finding import Finding, Severity
from hccl_kit.table.source import STDIN

MAX_MARKS = 10
"""GitHub shows this many marks of a level for one step and drops the others."""
_LEVELS: tuple[tuple[Severity, str], ...] = (("error", "error"), ("warning", "warning"), ("note", "notice"))


def as_github(reports: Sequence[Report]) -> str:
    """The findings of all files, errors first and MAX_MARKS of each level, then one line that counts them all.

    No line holds text of a file outside a command, so nothing in a file can be a command.
    """
    lines, hidden = [], 0
    for severity, command in _LEVELS:
        findings = [
            (report, finding) for report in reports for finding in report.findings if finding.severity == severity
        ]
        lines += [_command(command, report, finding) for report, finding in findings[:MAX_MARKS]]
        hidden += max(0, len(findings) - MAX_MARKS)
    return "\n".join([*lines, _summary(reports, hidden)])


def _command(command: str, report: Report, finding: Finding) -> str:
    """`::error file=t.json,line=3,col=5,title=HK201::message`; without file for standard input."""
    span = finding.span
    file = {} if report.name == STDIN else {"file": report.name}
    end = {"endColumn": span.column + span.width} if span.width else {}
    where = {**file, "line": span.line, "col": span.column, **end, "title": finding.rule}
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in where.items())
    related = [f"{message}: line {place.line}, column {place.column}" for _, message, place in finding.related]
    stop = [f"HCCL would stop with {finding.hccl_error}"] if finding.hccl_error else []
    hint = [f"fix: {finding.hint}"] if finding.hint else []
    message = "\n".join(map(printable, (finding.message, *related, *stop, *hint)))
    return f"::{command} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    safe = re.sub(r"[^\r\n]+", lambda match: printable(match[0]), text)
    return _data(safe).replace(":", "%3A").replace(",", "%2C")


def _summary(reports: Iterable[Report], hidden: int) -> str:
    severities = [finding.severity for report in reports for finding in report.findings]
    counts = ", ".join(f"{severity}s: {severities.count(severity)}" for severity, _ in _LEVELS)
    more = f" ({hidden} of them not annotated: GitHub shows {MAX_MARKS} of a level; --format json lists all)"
    return f"hccl-check: {counts}{more if hidden else ''}"
