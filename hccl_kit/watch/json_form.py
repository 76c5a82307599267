"""A job as JSON on one line, and back: a server reports to another one in the same form.

Its schema is `schemas/watch.schema.json`. What comes back is not trusted: values of a wrong type are left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, get_args

from hccl_kit.runtime.pulse import Point, Span, written
from hccl_kit.runtime.straggler import Lag
from hccl_kit.watch import records
from hccl_kit.watch.view import SHOWN, Job, Rank, State, problems
from hccl_kit.watch.view import job as job_of

JSON_VERSION = 1
"""Raised when a field of the JSON form changes its meaning or goes away."""
POINTS = 48
"""Maximum number of points of a curve in this form; it still covers the whole run."""
MAX_RANKS = 1 << 17
_MAX_WINDOWS = 8
_STATES: Mapping[str, State] = {state: state for state in get_args(State)}


def as_json(job: Job) -> str:
    """One line; ASCII, so any pipe takes it."""
    lag, found = job.slowest, job.straggler
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
            if found is None
            else {
                **_lag(found.lag),
                "since_step": found.since_step,
                "since": _rounded(found.since),
                "others": found.others,
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


def _rank(rank: Rank) -> dict[str, Any]:
    return {
        **rank._asdict(),
        "idle_s": _rounded(rank.idle_s),
        "silent_s": _rounded(rank.silent_s),
        "loss": written(rank.loss),
        "windows": [window.row() for window in rank.windows],
        "curve": [point.row() for point in thinned(rank.curve)],
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def thinned(curve: tuple[Point, ...]) -> tuple[Point, ...]:
    """The curve with at most POINTS points, each the sum of as many consecutive ones."""
    group = -(-len(curve) // POINTS) or 1
    found = []
    for at in range(0, len(curve), group):
        total = Span()
        for point in curve[at : at + group]:
            total = total.and_then(point.span)
        last = curve[min(at + group, len(curve)) - 1]
        found.append(Point(last.time, total, last.memory))
    return tuple(found)


def job_in(text: str) -> Job:
    """The job in the last line of a text that is an object: a server may print a banner before it.

    Raises ValueError if there is none of this version.
    """
    line = next((one for one in reversed(text.splitlines()) if one.startswith("{")), "")
    row: Any = None
    with suppress(ValueError, RecursionError):
        row = json.loads(line)
    if not isinstance(row, dict) or not isinstance(row.get("ranks"), list):
        raise ValueError("the answer is not a report of hccl-kit watch")
    if row.get("version") != JSON_VERSION:
        raise ValueError(f"the answer has version {str(row.get('version'))[:20]}, accepted: {JSON_VERSION}")
    ranks = [rank for one in row["ranks"][:MAX_RANKS] if (rank := _rank_in(one)) is not None]
    shown = 0
    for place, rank in enumerate(ranks):  # no watch sends more than this, and it takes memory
        shown += bool(rank.curve)
        if shown > 2 * SHOWN:
            ranks[place] = rank._replace(curve=())
    notes = row.get("notes")
    return job_of(
        records.text(row.get("run")),
        records.seconds(row.get("time")) or 0.0,
        list({rank.rank: rank for rank in ranks}.values()),
        size=records.whole(row.get("size"), MAX_RANKS) or 0,
        restarts=records.whole(row.get("restarts"), 1 << 24) or 0,
        notes=[records.text(note) for note in notes[:8]] if isinstance(notes, list) else (),
    )


def _rank_in(row: Any) -> Rank | None:
    if not isinstance(row, Mapping):
        return None
    number, state = records.whole(row.get("rank"), MAX_RANKS - 1), _STATES.get(str(row.get("state")))
    if number is None or state is None:
        return None
    windows, curve = (value if isinstance(value, list) else [] for value in (row.get("windows"), row.get("curve")))
    return Rank(
        number,
        state,
        host=records.text(row.get("host"), 64),
        device=records.whole(row.get("device"), 1 << 24),
        step=records.whole(row.get("step")),
        idle_s=records.seconds(row.get("idle_s")),
        silent_s=records.seconds(row.get("silent_s")),
        doing=records.text(row.get("doing"), 40),
        loss=records.number(row.get("loss")),
        memory=records.whole(row.get("memory"), 1 << 62),
        windows=tuple(span for one in windows[:_MAX_WINDOWS] if (span := records.span(one)) is not None),
        why=records.text(row.get("why")),
        last_line=records.text(row.get("last_line")),
        curve=tuple(point for one in curve[:POINTS] if (point := records.point(one)) is not None),
    )
