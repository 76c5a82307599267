"""Folders of runs that lie beside each other, as in hccl_logs: the run that failed last is judged, and its last start.

Our launchers make a folder for each run, with the files of each rank and of each server, and in it one for each
restart. A server or a rank that has files in two of them has taken part in two starts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from pathlib import PurePath
from typing import NamedTuple

from hccl_kit.base.grouped import grouped
from hccl_kit.diagnosis.facts import Event, Evidence, Fault, Process
from hccl_kit.diagnosis.verdict.runs import has_failure

_NOTES = re.compile(r"launcher_[0-9]{1,8}|facts_[0-9]{1,8}\.jsonl")
_OF_RANK = re.compile(r"(?:step|error|rank|worker)_[0-9]{1,8}(?:\.json|\.log)?")
_NAME = re.compile(r"(?:[0-9]{8}-[0-9]{6}-|slurm-[0-9]).*")
"""Of a folder that a launcher makes: its time and what makes it unique, or the job of Slurm."""
_RESTART = re.compile(r"(?:restart|attempt)_[0-9]{1,7}")
_OF_TORCHRUN = re.compile(r"attempt_[0-9]{1,7}/[0-9]{1,4}/[^/]+")
"""LOG_DIR/RUN/attempt_N/LOCAL_RANK/stderr.log: a folder for each start, with one for each rank of the server."""


class Start(NamedTuple):
    """A folder: whether the start failed, its last known time (0.0 if it has none), and its files."""

    failed: bool
    last: float
    folder: PurePath
    files: Set[str]


def of_last_run(evidence: Evidence) -> tuple[Evidence, frozenset[Process]]:
    """The evidence without the folders of other runs, and the processes that only these have."""
    starts = _starts(evidence)
    others = _others(starts)
    if not others:
        return evidence, frozenset()
    whole = {_run(start.folder) for start in starts} - {_run(start.folder) for start in starts if start not in others}
    folders = {start.folder for start in others}

    def is_left_out(file: str) -> bool:
        path = PurePath(file)
        return _folder(path) in folders or not whole.isdisjoint(path.parents)

    files = tuple(file for file in evidence.files if not is_left_out(file.file))
    events = tuple(event for event in evidence.events if not is_left_out(event.place.file))
    kept = evidence._replace(files=files, events=events)
    return kept, _processes(evidence) - _processes(kept)


def _processes(evidence: Evidence) -> frozenset[Process]:
    return frozenset((*(file.process for file in evidence.files), *(event.process for event in evidence.events)))


def _starts(evidence: Evidence) -> list[Start]:
    files: dict[PurePath, set[str]] = defaultdict(set)
    for name in (*(file.file for file in evidence.files), *(event.place.file for event in evidence.events)):
        path = PurePath(name)
        if _is_of_torchrun(path):
            files[_folder(path)].add(str(path.parents[2] / path.parent.name / path.name))
        elif _NOTES.fullmatch(path.name) or (_OF_RANK.fullmatch(path.name) and _NAME.fullmatch(_run(path.parent).name)):
            files[path.parent].add(path.name)
    events = grouped((_folder(PurePath(event.place.file)), event) for event in evidence.events)
    return [_start(folder, names, events.get(folder, ())) for folder, names in files.items()]


def _is_of_torchrun(path: PurePath) -> bool:
    return _OF_TORCHRUN.fullmatch("/".join(path.parts[-3:])) is not None


def _folder(path: PurePath) -> PurePath:
    """The folder of the start that a file is of."""
    return path.parents[1] if _is_of_torchrun(path) else path.parent


def _start(folder: PurePath, files: Set[str], events: Iterable[Event]) -> Start:
    by_process = grouped((event.process, event) for event in events if not _may_be_harmless(event))
    times = [event.time for of_process in by_process.values() for event in of_process if event.time is not None]
    return Start(any(map(has_failure, by_process.values())), max(times, default=0.0), folder, files)


def _may_be_harmless(event: Event) -> bool:
    return isinstance(event.fact, Fault) and event.fact.is_unknown


def _run(folder: PurePath) -> PurePath:
    """The folder of the run that a folder of a start is in."""
    return folder.parent if _RESTART.fullmatch(folder.name) else folder


def _others(starts: Sequence[Start]) -> list[Start]:
    """Those with a file of the same name as the last that failed, or as one that is nearer to it, by time or name."""
    if not starts:
        return []
    failed = max(starts, key=lambda start: start[:3])
    taken: set[str] = set()
    others = []

    def distance(start: Start) -> tuple[bool, float, bool]:
        return start != failed, abs(start.last - failed.last), start.folder.name != failed.folder.name

    for start in sorted(starts, key=distance):
        if taken.isdisjoint(start.files):
            taken |= start.files
        else:
            others.append(start)
    return others
