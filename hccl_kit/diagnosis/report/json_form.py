"""A diagnosis as JSON, described by schemas/diagnosis.schema.json."""

from __future__ import annotations

import json
import math
from typing import Any

from hccl_kit.diagnosis.moments import timestamp
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, FirstFault, Wait

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
        "first_fault": fault and _fault(fault),
        "place": diagnosis.where,
        "blame": diagnosis.blame,
        "last_time": timestamp(diagnosis.last),
        "suspects": [suspect._asdict() for suspect in diagnosis.suspects],
        "cascade": [_wait(wait) for wait in diagnosis.cascade],
        "silent_ranks": [suspect.rank for suspect in diagnosis.silent if suspect.rank is not None],
        "silent": [suspect._asdict() for suspect in diagnosis.silent],
        "clock_offsets_s": {
            server: round(offset, 3) for server, offset in diagnosis.clock_offsets.items() if math.isfinite(offset)
        },
        "clock_links": diagnosis.links,
        "evidence": [place._asdict() for place in diagnosis.evidence],
        "reason": diagnosis.reason,
        "fix": diagnosis.fix,
        "supports": list(diagnosis.supports),
        "contradicts": list(diagnosis.contradicts),
        "notes": list(diagnosis.notes),
    }


def _fault(fault: FirstFault) -> dict[str, Any]:
    return {
        **fault.suspect._asdict(),
        "rule": fault.rule,
        "code": fault.code,
        "time": timestamp(fault.time),
        "kind": fault.kind,
        "place": fault.place and fault.place._asdict(),
    }


def _wait(wait: Wait) -> dict[str, Any]:
    return {
        "rank": wait.suspect.rank,
        "waits_for": wait.waits_for and wait.waits_for.rank,
        "code": wait.code,
        "server": wait.suspect.server,
        "device": wait.suspect.device,
        "awaited": wait.waits_for and wait.waits_for._asdict(),
        "time": timestamp(wait.time),
        "place": wait.place and wait.place._asdict(),
    }
