"""A report as SARIF 2.1.0, which code scanning services and editors read (OASIS standard of 2020)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from hccl_kit import __version__
from hccl_kit.check.result import Report
from hccl_kit.check.rule import Rule
from hccl_kit.check.rule_pages import LABELS, as_sections, markdown_page
from hccl_kit.check.rules import RULE_BY_ID
from hccl_kit.table.finding import Finding
from hccl_kit.table.pointer import Span

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MAX_RESULTS = 25_000
"""GitHub refuses a run with more."""


def as_sarif(reports: Sequence[Report]) -> str:
    """All reports as one run; ASCII. The rules that have a result are described in it; levels are our severities,
    which SARIF calls by the same words.

    Beyond MAX_RESULTS errors come first, and a notification counts what was left out.
    """
    findings = [(report, finding) for report in reports for finding in report.findings]
    if len(findings) > MAX_RESULTS:
        findings.sort(key=lambda pair: pair[1].severity != "error")
    results = findings[:MAX_RESULTS]
    rules = sorted({finding.rule for _, finding in results})
    index = {rule: position for position, rule in enumerate(rules)}
    described = [_rule(RULE_BY_ID[rule]) for rule in rules]
    driver = {"name": "hccl-check", "version": __version__, "rules": described}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, **_left_out(len(findings) - len(results))}],
        "results": [_result(report, finding, index) for report, finding in results],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: Rule[...]) -> dict[str, Any]:
    summary, sections = as_sections(rule)
    labelled: Mapping[str, str] = {LABELS[name]: text for name, text in sections.items()}
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": sections["What"]},
        "help": {"text": rule.page, "markdown": markdown_page(labelled)},
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(report: Report, finding: Finding, index: Mapping[str, int]) -> dict[str, Any]:
    stop = [f"HCCL would stop with {finding.hccl_error}."] if finding.hccl_error else []
    hint = [f"Fix: {finding.hint}"] if finding.hint else []
    related = [{**_location(report.name, span), "message": {"text": message}} for _, message, span in finding.related]
    return {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": finding.severity,
        "message": {"text": _literal("\n".join([finding.message, *stop, *hint]))},
        "locations": [_location(report.name, finding.span)],
        **({"relatedLocations": related} if related else {}),
    }


def _literal(text: str) -> str:
    """A message in which nothing that came from a file is a placeholder (3.11.5) or a link (3.11.6)."""
    return text.replace("{", "{{").replace("}", "}}").replace("](", "] (")


def _location(name: str, span: Span) -> dict[str, Any]:
    """A finding about the whole file is placed at its first line."""
    columns = {"startColumn": span.column, "endColumn": span.column + span.width} if span.width else {}
    region = {"startLine": span.line, **columns}
    return {"physicalLocation": {"artifactLocation": {"uri": as_uri(name)}, "region": region}}


def as_uri(name: str) -> str:
    """A path as the user wrote it as a URI reference (RFC 3986): relative paths stay relative."""
    path = quote(name, errors="surrogateescape")
    return f"file:///{path.lstrip('/')}" if path.startswith("/") else path


def _left_out(count: int) -> Mapping[str, Iterable[Any]]:
    if not count:
        return {}
    text = f"{count} further findings are left out; --format json lists all"
    return {"toolExecutionNotifications": [{"level": "warning", "message": {"text": text}}]}
