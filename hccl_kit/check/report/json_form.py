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
                "rule": found.rule,
                "name": found.name,
                "severity": found.severity,
                "pointer": to_json_pointer(found.pointer),
                "line": found.span.line,
                "column": found.span.column,
                "message": found.message,
                "hint": found.hint,
                "hccl_error": found.hccl_error,
            }
            for found in report.findings
        ],
    }
