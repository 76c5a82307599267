"""Read the folder of a training (train.ckpt_save_dir): rank 0 by metrics.jsonl, for runs without a launch script."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hccl_kit.base.message import Message
from hccl_kit.base.schemas import object_in
from hccl_kit.runtime.pulse import POINTS, RECENT, Point, Span, thinned
from hccl_kit.runtime.straggler import Lag
from hccl_kit.watch import records
from hccl_kit.watch.run_folder import LOG_END, read_part
from hccl_kit.watch.view import GONE, State, Straggler, WatchedJob, WatchedRank

METRICS, SUMMARY, LOG = "metrics.jsonl", "summary.json", "log_0.txt"
MAX_METRICS = 4 << 20
"""Bytes at the end of metrics.jsonl that are read: some ten thousand lines."""
MAX_SUMMARY = 4 << 20


def is_training(folder: Path) -> bool:
    """Whether a training writes here, or has written."""
    return any(os.path.isfile(folder / name) for name in (METRICS, SUMMARY, LOG))  # noqa: PTH113 - never raises


def read(folder: Path, now: float) -> WatchedJob:
    """The training in a folder. It writes no sign of life, so a pause looks like an end."""
    rows = [row for line in _lines(folder / METRICS) if (row := object_in(line)) and "loss" in row]
    summary = object_in(read_part(folder / SUMMARY, 0, MAX_SUMMARY) or b"") or {}
    log = read_part(folder / LOG, -LOG_END, LOG_END) or b""
    spans = _spans(rows)
    step = max((span.step for span in spans), default=records.whole(summary.get("steps")))
    changed = [time for name in (METRICS, LOG) if (time := _changed(folder / name)) is not None]
    age = max(0.0, now - max(changed)) if changed else None
    state: State = "done" if summary else "running" if spans else "starting"
    rank = WatchedRank(
        0,
        state,
        step=step,
        idle_s=age,
        silent_s=None if summary or age is None or age < GONE else age,
        loss=spans[-1].mean_loss if spans else None,
        windows=tuple(spans[-RECENT:]),
        last_line=records.last_line(log),
        curve=thinned([Point(0.0, span, 0) for span in spans], POINTS),  # they have no times
    )
    size = records.whole(summary.get("world_size"), 1 << 24) or 1
    only = Message("watch.only-rank-0", "{ranks} ranks; only rank 0 writes into this folder", ranks=size)
    notes = () if size == 1 else (only,)
    return WatchedJob(str(folder), now, state, size, 0, (rank,), None, _straggler(summary), notes)


def _changed(path: Path) -> float | None:
    """When a file was changed last; None if it is gone, or cannot be looked at."""
    with suppress(OSError):
        return path.stat().st_mtime
    return None


def _lines(path: Path) -> list[bytes]:
    """The whole lines at the end of a file."""
    data = read_part(path, -MAX_METRICS, MAX_METRICS) or b""
    return data.split(b"\n")[1 if len(data) == MAX_METRICS else 0 : -1]


def _spans(rows: Sequence[Mapping[str, Any]]) -> list[Span]:
    """The steps between two lines, with the times that stand in the second one."""
    spans: list[Span] = []
    last = 0
    for row in rows:
        step, loss = records.whole(row.get("step")), records.number(row.get("loss"))
        if step is None or step <= last:
            continue
        data, compute, communication = (
            records.seconds(row.get(name)) or 0.0 for name in ("data_s", "compute_s", "communication_s")
        )
        whole = data + compute + communication
        if whole >= records.SHORTEST:  # the first line may be of the first step alone, which has no times
            number = int(loss is not None)
            spans.append(Span(step, step - last, whole, data, compute, communication, loss or 0.0, number))
        last = step
    return spans


def _straggler(summary: Mapping[str, Any]) -> Straggler | None:
    straggler = summary.get("straggler")
    if not isinstance(straggler, dict) or straggler.get("until_step") is not None:
        return None
    rank, part = records.whole(straggler.get("rank"), 1 << 24), straggler.get("part")
    own_s, others_s = records.seconds(straggler.get("own_s")), records.seconds(straggler.get("others_s"))
    if rank is None or own_s is None or others_s is None or part not in ("data", "compute"):
        return None
    return Straggler(Lag(rank, own_s, others_s, part), records.whole(straggler.get("since_step")), None, 0)
