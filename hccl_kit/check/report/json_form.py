"""A report for programs, as JSON. Its schema is `schemas/check_report.schema.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hccl_kit.check.result import Report
from hccl_kit.table.pointer import to_json_pointer

JSON_VERSION = 1
"""Raised when a field of the JSON form changes its meaning or goes away."""


def as_json(reports: Iterable[Report]) -> str:
    """All reports as one document; `pointer` is RFC 6901, line and column count from 1. ASCII, so any pipe takes it."""
    return json.dumps({"version": JSON_VERSION, "results": [_result(report) for report in reports]}, indent=2)


def _result(report: Report) -> dict[str, Any]:
    return {
        "file": report.name,
        "format": report.format,
        "product": report.product,
        "ok": report.ok,
        "hccl_error": report.hccl_error,
        "findings": [
            {
                "rule": finding.rule,
                "name": finding.name,
                "severity": finding.severity,
                "pointer": to_json_pointer(finding.pointer),
                "line": finding.span.line,
                "column": finding.span.column,
                "message": finding.message,
                "hint": finding.hint,
                "hccl_error": finding.hccl_error,
            }
            for finding in report.findings
        ],
    }
