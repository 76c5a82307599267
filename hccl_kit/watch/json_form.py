"""A job as JSON on one line, and back: a server reports to another one in the same form.

Its schema is `schemas/watch.schema.json`, by which what comes back is checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from hccl_kit.base.schemas import loads, mismatch
from hccl_kit.runtime.pulse import thinned, written
from hccl_kit.runtime.straggler import Lag
from hccl_kit.watch import records
from hccl_kit.watch.view import SHOWN, WatchedJob, WatchedRank, problems
from hccl_kit.watch.view import job as job_of

JSON_VERSION = 1
"""Raised when a field of the JSON form changes its meaning or goes away."""
POINTS = 48
"""Maximum number of points of a curve in this form; it still covers the whole run."""
_MAX_NOTES = 8
_ROWS = frozenset({"windows", "curve"})


def as_json(job: WatchedJob) -> str:
    """One line; ASCII, so any pipe takes it."""
    lag, straggler = job.slowest, job.straggler
    speed = job.speed
    return json.dumps(
        {
            "version": JSON_VERSION,
            "run": job.run,
            "time": round(job.time, 3),
            "state": job.state,
            "ok": job.is_well,
            "size": job.size,
            "restarts": job.restarts,
            "steps_per_s": None if speed is None else round(speed, 6),
            "problems": problems(job),
            "slowest": None if lag is None else _lag(lag),
            "straggler": None
            if straggler is None
            else {
                **_lag(straggler.lag),
                "since_step": straggler.since_step,
                "since": _rounded(straggler.since),
                "others": straggler.others,
            },
            "notes": job.notes,
            "lost": job.lost,
            "ranks": [_rank(rank) for rank in job.ranks],
        },
        allow_nan=False,
    )


def _lag(lag: Lag) -> dict[str, Any]:
    return {
        "rank": lag.rank,
        "part": lag.part,
        "own_s": round(lag.own_s, 6),
        "others_s": round(lag.others_s, 6),
    }


def _rank(rank: WatchedRank) -> dict[str, Any]:
    return {
        **rank._asdict(),
        "idle_s": _rounded(rank.idle_s),
        "silent_s": _rounded(rank.silent_s),
        "loss": written(rank.loss),
        "windows": [window.row() for window in rank.windows],
        "curve": [point.row() for point in thinned(rank.curve, POINTS)],
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def job_in(line: str) -> WatchedJob:
    """The job in a line of `as_json` from another server.

    The schema checks all of it but the rows of numbers, which `records` reads here as in the files of a heartbeat:
    there are thousands of them, for which jsonschema takes ten times as long. Raises ValueError with what was found
    instead of a report of this version.
    """
    document: Any = None
    with suppress(ValueError):
        document = loads(line)
    if not isinstance(document, dict) or "ranks" not in document:
        raise ValueError("the answer is not a report of hccl-kit watch")
    if document.get("version") != JSON_VERSION:
        raise ValueError(f"the answer has version {str(document.get('version'))[:20]}, accepted: {JSON_VERSION}")
    ranks = document["ranks"] if isinstance(document["ranks"], list) else []
    without_rows = [{**rank, **{key: [] for key in _ROWS & rank.keys()}} if _has_rows(rank) else rank for rank in ranks]
    if wrong := mismatch({**document, "ranks": without_rows if ranks else document["ranks"]}, "watch"):
        raise ValueError(f"the answer does not match the schema: {wrong.place}: {wrong.reason}")
    return job_of(
        records.text(document["run"]),
        document["time"],
        list(_ranks(ranks).values()),
        size=document["size"],
        restarts=document["restarts"],
        notes=[records.text(note) for note in document["notes"][:_MAX_NOTES]],
    )


def _has_rows(rank: Any) -> bool:
    return isinstance(rank, dict) and all(isinstance(rank.get(name), list) for name in _ROWS)


def _ranks(rows: Sequence[Mapping[str, Any]]) -> dict[int, WatchedRank]:
    """The ranks by their numbers. No watch sends more curves than it shows, and they take memory."""
    ranks: dict[int, WatchedRank] = {}
    curves = 0
    for row in rows:
        points = row["curve"][:POINTS] if curves < 2 * SHOWN else []
        curves += bool(points)
        ranks[row["rank"]] = WatchedRank(
            row["rank"],
            row["state"],
            idle_s=row["idle_s"],
            silent_s=row["silent_s"],
            why=records.text(row["why"]),
            last_line=records.text(row["last_line"]),
            curve=tuple(filter(None, map(records.point, points))),
            **records.fields(row),
        )
    return ranks
