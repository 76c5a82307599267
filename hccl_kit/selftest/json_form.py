"""A run as JSON, and back: the report of one run is the baseline of a later one.

Its schema is `schemas/selftest_report.schema.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.schemas import loads, mismatch
from hccl_kit.selftest.evidence import Weighed
from hccl_kit.selftest.measured import Collective, Compute, Link, LostRank, Measured, Split
from hccl_kit.selftest.rounds import Card

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Value = TypeVar("_Value", bound="DataclassInstance")
_KEYS = {"pair": "ranks", "is_wrong": "wrong"}
"""Fields that have another name in JSON."""
_KINDS: Mapping[str, Any] = {
    "cards": Card,
    "collectives": Collective,
    "links": Link,
    "compute": Compute,
    "splits": Split,
    "lost": LostRank,
}

JSON_VERSION = 1
"""Raised when a field of the JSON form changes its meaning or goes away."""
MAX_BYTES = 64 << 20
"""A baseline of 8192 cards with 31 partners each has about 20 MB."""


def as_json(measured: Measured, weighed: Weighed, *, table: str, slow: float) -> str:
    """One document; ASCII, so any pipe takes it."""
    return json.dumps(
        {
            "version": JSON_VERSION,
            "table": table,
            "backend": measured.backend,
            "slow": slow,
            "ok": not weighed.faults,
            "faults": [fault._asdict() for fault in weighed.faults],
            "doubts": [fault._asdict() for fault in weighed.doubts],
            **{name: [_row(value) for value in getattr(measured, name)] for name in _KINDS},
            "skipped": measured.skipped,
        },
        indent=2,
    )


def _row(value: DataclassInstance) -> dict[str, Any]:
    """A value by its fields. Ratios have four decimals, which are enough and keep the file of a large job small."""
    row = {_KEYS.get(field.name, field.name): getattr(value, field.name) for field in fields(value)}
    if "ratios" in row:
        row["ratios"] = [round(ratio, 4) for ratio in row["ratios"]]
    if isinstance(value, Collective):
        row |= {"algorithm_bandwidth": value.algorithm, "bus_bandwidth": value.bus}
    return row


def _value(kind: type[_Value], row: Mapping[str, Any]) -> _Value:
    """The value of a row of `_row`; keys that it does not know are left out."""
    return kind(**{field.name: _frozen(row[_KEYS.get(field.name, field.name)]) for field in fields(kind)})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def read_baseline(path: Path) -> Measured:
    """The measurements in a report of an earlier run.

    Raises KitError if the file cannot be read or is not such a report.
    """
    try:
        document = loads(read_bounded(path, MAX_BYTES))
    except ValueError as error:
        reason = str(error)[:200]
        raise KitError(
            "selftest.baseline-not-json", "{path} is not JSON: {reason}", hint=_HOW, path=path, reason=reason
        ) from error
    return measured_of(document, str(path))


_HOW = Message("selftest.baseline.fix", "hccl-kit selftest TABLE --format json > FILE writes a baseline")


def measured_of(document: Any, name: str) -> Measured:
    """The measurements in a document of `as_json`. Raises KitError if it does not match the schema."""
    if isinstance(document, dict) and document.get("version") not in (JSON_VERSION, None):
        raise KitError(
            "selftest.baseline-version",
            "{path} has version {version} of the report; accepted: {accepted}",
            hint=_HOW,
            path=name,
            version=repr(document["version"])[:40],
            accepted=JSON_VERSION,
        )
    if wrong := mismatch(document, "selftest_report"):
        raise KitError(
            "selftest.not-a-baseline",
            "{path} is not a report of a selftest: {place}: {reason}",
            hint=_HOW,
            path=name,
            place=wrong.place,
            reason=wrong.reason,
        )
    return Measured(
        backend=document["backend"],
        skipped=tuple(document["skipped"]),
        **{name: tuple(_value(kind, row) for row in document[name]) for name, kind in _KINDS.items()},
    )


def assert_comparable(measured: Measured, baseline: Measured, name: str) -> None:
    """Raises KitError if the baseline is of another framework or of other cards: its figures are not comparable."""
    if measured.backend != baseline.backend:
        raise KitError(
            "selftest.other-backend",
            "{path} was measured with --backend {before}, this run with {now}",
            fix="--backend {before}, or a new baseline",
            path=name,
            before=baseline.backend,
            now=measured.backend,
        )
    if set(measured.cards) != set(baseline.cards):
        other = min(set(measured.cards) ^ set(baseline.cards))
        raise KitError(
            "selftest.other-cards",
            "{path} is of other cards: rank {rank} ({server}, card {card}) is in one of the two",
            fix="give a baseline of the same table, or write a new one",
            path=name,
            rank=other.rank,
            server=other.server,
            card=other.device,
        )
