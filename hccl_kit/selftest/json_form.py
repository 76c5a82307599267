"""A run as JSON, and back: the report of one run is the baseline of a later one.

Its schema is `schemas/selftest_report.schema.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.selftest.evidence import Weighed
from hccl_kit.selftest.measured import Collective, Compute, Link, LostRank, Measured, Split
from hccl_kit.selftest.rounds import Card

_Value = TypeVar("_Value")

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
            "cards": [card._asdict() for card in measured.cards],
            "collectives": [_collective(one) for one in measured.collectives],
            "links": [
                {
                    "ranks": one.pair,
                    "bandwidth": one.bandwidth,
                    "wrong": one.is_wrong,
                    "problem": one.problem,
                    "ratios": _rounded(one.ratios),
                }
                for one in measured.links
            ],
            "compute": [{**asdict(one), "ratios": _rounded(one.ratios)} for one in measured.compute],
            "splits": [asdict(one) for one in measured.splits],
            "lost": [asdict(one) for one in measured.lost],
            "skipped": measured.skipped,
        },
        indent=2,
    )


def _rounded(ratios: Sequence[float]) -> list[float]:
    """The ratios with four decimals, which are enough and keep the file of a large job small."""
    return [round(ratio, 4) for ratio in ratios]


def _collective(one: Collective) -> dict[str, Any]:
    return {**asdict(one), "algorithm_bandwidth": one.algorithm, "bus_bandwidth": one.bus}


def read_baseline(path: Path) -> Measured:
    """The measurements in a report of an earlier run.

    Raises KitError if the file cannot be read or is not such a report.
    """
    return measured_of(_document(read_bounded(path, MAX_BYTES), path), str(path))


def _document(data: bytes, path: Path) -> Any:
    try:
        return json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise KitError(f"{path} is not JSON: {str(error)[:200]}", hint=_HOW) from error


def _refuse(name: str) -> float:
    """Raises ValueError: comparisons with NaN are false, so it would hide what is bad."""
    raise ValueError(f"{name} is not a number of JSON")


_HOW = "hccl-kit selftest TABLE --format json > FILE writes a baseline"


def measured_of(document: Any, name: str) -> Measured:
    """The measurements in a document of `as_json`. Raises KitError if it does not match the schema."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - 80 ms, needed only with --baseline

    from hccl_kit.base.schemas import load  # noqa: PLC0415

    if isinstance(document, dict) and document.get("version") not in (JSON_VERSION, None):
        found = repr(document["version"])[:40]
        raise KitError(f"{name} has version {found} of the report; accepted: {JSON_VERSION}", hint=_HOW)
    error = next(Draft202012Validator(load("selftest_report")).iter_errors(document), None)
    if error is not None:
        place = "/".join(map(str, error.absolute_path))
        raise KitError(f"{name} is not a report of a selftest: {place}: {error.message[:200]}", hint=_HOW)
    cards = tuple(Card(one["rank"], one["server"], one["device"]) for one in document["cards"])
    return Measured(
        document["backend"],
        cards,
        tuple(
            Collective(one["operator"], one["size"], one["ranks"], one["seconds"], one["problem"])
            for one in document["collectives"]
        ),
        tuple(
            Link(_two(one["ranks"]), one["bandwidth"], one["wrong"], one["problem"], tuple(one["ratios"]))
            for one in document["links"]
        ),
        tuple(
            Compute(one["rank"], one["gflops"], one["memory"], one["stalled"], tuple(one["ratios"]))
            for one in document["compute"]
        ),
        tuple(_split(one) for one in document["splits"]),
        tuple(LostRank(one["rank"], one["how"], one["detail"]) for one in document["lost"]),
        tuple(document["skipped"]),
    )


def _split(one: Mapping[str, Any]) -> Split:
    first, second = map(tuple, one["halves"])
    return Split((first, second), tuple(map(_two, one["bandwidths"])))


def _two(values: Sequence[_Value]) -> tuple[_Value, _Value]:
    first, second = values
    return first, second


def assert_comparable(measured: Measured, baseline: Measured, name: str) -> None:
    """Raises KitError if the baseline is of another framework or of other cards: its figures are not comparable."""
    if measured.backend != baseline.backend:
        message = f"{name} was measured with --backend {baseline.backend}, this run with {measured.backend}"
        raise KitError(message, hint=f"--backend {baseline.backend}, or a new baseline")
    if set(measured.cards) != set(baseline.cards):
        other = next(iter(sorted(set(measured.cards) ^ set(baseline.cards))))
        message = (
            f"{name} is of other cards: rank {other.rank} ({other.server}, card {other.device}) is in one of the two"
        )
        raise KitError(message, hint="give a baseline of the same table, or write a new one")
