"""A diagnosis as JSON, described by schemas/diagnosis.schema.json."""

from __future__ import annotations

import json
import math
from typing import Any

from hccl_kit.diagnosis.facts import Place
from hccl_kit.diagnosis.moments import timestamp
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, FirstFault, Suspect, Wait

VERSION = 1


def as_json(diagnosis: Diagnosis) -> str:
    """The whole diagnosis as one object."""
    return json.dumps(as_value(diagnosis), indent=2, allow_nan=False)


def as_value(diagnosis: Diagnosis) -> dict[str, Any]:
    """The object that `as_json` prints."""
    fault = diagnosis.first_fault
    return {
        "version": VERSION,
        "certainty": diagnosis.certainty,
        "first_fault": None if fault is None else _fault(fault),
        "place": diagnosis.where,
        "blame": diagnosis.blame,
        "last_time": timestamp(diagnosis.last),
        "suspects": [_suspect(suspect) for suspect in diagnosis.suspects],
        "cascade": [_wait(wait) for wait in diagnosis.cascade],
        "silent_ranks": [suspect.rank for suspect in diagnosis.silent if suspect.rank is not None],
        "silent": [_suspect(suspect) for suspect in diagnosis.silent],
        "clock_offsets_s": {
            server: round(offset, 3) for server, offset in diagnosis.clock_offsets.items() if math.isfinite(offset)
        },
        "clock_links": diagnosis.links,
        "evidence": [_place(place) for place in diagnosis.evidence],
        "reason": diagnosis.reason,
        "fix": diagnosis.fix,
        "supports": list(diagnosis.supports),
        "contradicts": list(diagnosis.contradicts),
        "notes": list(diagnosis.notes),
    }


def _suspect(suspect: Suspect) -> dict[str, Any]:
    return suspect._asdict()


def _fault(fault: FirstFault) -> dict[str, Any]:
    return {
        **_suspect(fault.suspect),
        "rule": fault.rule,
        "code": fault.code,
        "time": timestamp(fault.time),
        "kind": fault.kind,
        "place": None if fault.place is None else _place(fault.place),
    }


def _wait(wait: Wait) -> dict[str, Any]:
    return {
        "rank": wait.suspect.rank,
        "waits_for": None if wait.waits_for is None else wait.waits_for.rank,
        "code": wait.code,
        "server": wait.suspect.server,
        "device": wait.suspect.device,
        "awaited": None if wait.waits_for is None else _suspect(wait.waits_for),
        "time": timestamp(wait.time),
        "place": None if wait.place is None else _place(wait.place),
    }


def _place(place: Place) -> dict[str, Any]:
    return place._asdict()
