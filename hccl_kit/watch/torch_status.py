"""The status files of torch_npu: the last collective of each rank, of programs that report nothing themselves.

With TORCH_HCCL_STATUS_SAVE_ENABLE=1, torch_npu writes a file for each process, every TORCH_HCCL_STATUS_SAVE_INTERVAL
seconds. It is written in place, so it may be empty or incomplete. The content is not trusted.

Source: torch_npu's ProcessGroupHCCL.cpp (recordHcclStatus) and its pages of these variables, seen on 2026-11-28; read
from the source only, no NPU was here. MindSpore's watchdog has such a file too, whose form was not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hccl_kit.base.schemas import object_in
from hccl_kit.watch import records
from hccl_kit.watch.view import State, WatchedRank

ENABLE = "TORCH_HCCL_STATUS_SAVE_ENABLE"
MAX_BYTES = 64 << 10
"""Bytes of a file that are read: one collective for each process group."""
_NAME = re.compile(
    r"torch_hccl_status-(?P<rank>[0-9]{1,7})_[\w.:-]{1,255}_(?P<device>-?[0-9]{1,6})_(?P<ranks>-?[0-9]{1,8})"
    r"_[0-9]{1,10}_(?P<first>[0-9]{1,15})\.log",
    re.ASCII,
)


class StatusFile(NamedTuple):
    """A file, and what its name says: the card, the number of ranks, the time of the first write in ms since 1970."""

    name: str
    device: int
    ranks: int
    first_ms: int


def newest(names: Iterable[str]) -> dict[int, StatusFile]:
    """The newest file of each rank; those of earlier processes are left out."""
    files: dict[int, StatusFile] = {}
    for name in names:
        if match := _NAME.fullmatch(name):
            file = StatusFile(name, *(int(match[key]) for key in ("device", "ranks", "first")))
            rank = int(match["rank"])
            files[rank] = max(file, files.get(rank, file), key=lambda file: file.first_ms)
    return files


def rank_of(rank: int, file: StatusFile, data: bytes) -> WatchedRank | None:
    """What a rank does; None if the file is not complete.

    It has no step and no sign of life: a rank that waits may write nothing new.
    """
    status = object_in(data)
    if status is None:
        return None
    why = records.text(status.get("exception_message"))
    end = records.whole(status.get("global_pg_end_time"))
    state: State = "failed" if why else "done" if end is not None and end > file.first_ms else "running"
    device = None if file.device < 0 else file.device
    return WatchedRank(rank, state, device=device, doing=_doing(status) if state == "running" else "", why=why)


def _doing(status: Mapping[str, Any]) -> str:
    """The collective that the rank has begun and not ended, such as "allreduce 2706"; empty if there is none."""
    groups = status.get("last_comm_op")
    for last in groups if isinstance(groups, list) else ():
        if isinstance(last, dict) and last.get("status") == "start":
            return f"{records.text(last.get('op_type'), 20).lower()} {records.whole(last.get('seq')) or ''}".strip()
    return ""
