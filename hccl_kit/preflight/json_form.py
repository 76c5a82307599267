"""The findings as JSON for programs, and back. Its schema is `schemas/preflight_report.schema.json`.

The reports on one server and on all servers have the same form; over ssh, a server answers in it too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.schemas import mismatch, refuse_constant
from hccl_kit.preflight.answer import Answer, finding_to_value, from_value, to_value
from hccl_kit.table.finding import Finding

JSON_VERSION = 1
"""Raised when a field of the JSON form changes its meaning or goes away."""
_MAX_STARTS = 50
"""Places of a text where an answer may start; a login may print something before it."""


class Subject(NamedTuple):
    """The checked table: its file as the user wrote it, the SHA-256 of its bytes, and the product."""

    file: str
    digest: str
    product: str


def as_json(
    subject: Subject,
    answers: Sequence[Answer],
    differences: Sequence[Finding] = (),
    table_findings: Sequence[Finding] = (),
) -> str:
    """One document; ASCII, so any pipe takes it. With `table_findings` no server was checked."""
    findings = (*differences, *table_findings)
    return json.dumps(
        {
            "version": JSON_VERSION,
            "table": {
                "file": subject.file,
                "sha256": subject.digest,
                "findings": [*map(finding_to_value, table_findings)],
            },
            "product": subject.product,
            "ok": all(answer.error is None and answer.report.ok for answer in answers)
            and all(finding.severity != "error" for finding in findings),
            "servers": [to_value(answer) for answer in answers],
            "differences": [*map(finding_to_value, differences)],
        },
        indent=2,
    )


def read_answer(text: str) -> Answer:
    """The answer of the one server in a document of `as_json`, which may be surrounded by other text.

    Raises ValueError with what was found instead.
    """
    document = _document(text)
    if document is None:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        raise ValueError(f"it printed {lines[-1][:200]!r}" if lines else "it printed nothing")
    if document.get("version") != JSON_VERSION:
        raise ValueError(
            f"its hccl-kit writes version {document.get('version')!r} of the report, this one reads {JSON_VERSION}"
        )
    if wrong := mismatch(document, "preflight_report"):
        raise ValueError(f"its report does not match the schema: {wrong.reason}")
    if not document["servers"]:
        errors = [finding["message"] for finding in document["table"]["findings"] if finding["severity"] == "error"]
        raise ValueError(f"its hccl-kit refuses the table: {errors[0][:200] if errors else 'without a reason'}")
    return from_value(document["servers"][0])


def answer_in(value: Any) -> Answer:
    """The answer in a value of `to_value` that another process sent. Raises KitError if it is not one."""
    if wrong := mismatch(value, "preflight_report", "server"):
        raise KitError(
            "preflight.answer-of-process",
            "the answer of a process does not match the schema: {place}: {reason}",
            fix="install one version of hccl-kit on all servers",
            place=wrong.place,
            reason=wrong.reason,
        )
    return from_value(value)


def _document(text: str) -> Any:
    decoder = json.JSONDecoder(parse_constant=refuse_constant)
    start = -1
    for _ in range(_MAX_STARTS):
        start = text.find("{", start + 1)
        if start < 0:
            return None
        try:
            value, _end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and "servers" in value:
            return value
    return None
