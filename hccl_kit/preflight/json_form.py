"""The findings as JSON for programs. Its schema is `schemas/preflight_report.schema.json`.

The reports on one server and on all servers have the same form; a server answers with its part of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from hccl_kit.preflight.answer import Answer, finding_to_value, to_value
from hccl_kit.preflight.card_state import CardRound
from hccl_kit.table.finding import Finding

JSON_VERSION = 1
"""Raised when a field of the JSON form changes its meaning or goes away."""


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
    cards: CardRound | None = None,
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
            and not (cards and cards.silent)
            and all(finding.severity != "error" for finding in findings),
            "servers": [to_value(answer) for answer in answers],
            "differences": [*map(finding_to_value, differences)],
            **({"cards": _cards(cards)} if cards else {}),
        },
        indent=2,
    )


def _cards(subject: CardRound) -> dict[str, Any]:
    return {
        "rounds": subject.plan.rounds,
        "pings": len(subject.pings),
        "silent": dict(subject.silent),
        "failed": [
            [*source, *target, link, *pinged]
            for source, target, link, pinged in subject.pings
            if not pinged.is_answered
        ],
    }
