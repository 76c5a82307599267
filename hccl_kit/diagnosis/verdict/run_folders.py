"""Folders of runs that lie beside each other, as in hccl_logs: the run that failed last is judged.

Our launchers make a folder for each run, with the files of each rank and of each server. A server or a rank that has
files in two of them has taken part in two runs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Set
from pathlib import PurePath
from typing import NamedTuple

from hccl_kit.base.grouped import grouped
from hccl_kit.diagnosis.facts import Event, Evidence, Process
from hccl_kit.diagnosis.verdict.runs import has_failure

_NOTES = re.compile(r"launcher_[0-9]{1,8}|facts_[0-9]{1,8}\.jsonl")
_OF_RANK = re.compile(r"(?:step|error|rank)_[0-9]{1,8}(?:\.json|\.log)?")
_NAME = re.compile(r"[0-9]{8}-[0-9]{6}-.+")
"""Of a folder that a launcher makes: its time, and what makes it unique."""
_RESTART = re.compile(r"restart_([0-9]{1,7})")


class Run(NamedTuple):
    """A folder: whether the run failed, its last known time (0.0 if it has none), and its files."""

    failed: bool
    last: float
    folder: PurePath
    files: Set[str]


def of_last_run(evidence: Evidence) -> tuple[Evidence, frozenset[Process]]:
    """The evidence without the folders of other runs, and the processes that only these have."""
    others = _other_folders(_runs(evidence))
    if not others:
        return evidence, frozenset()
    files = tuple(file for file in evidence.files if others.isdisjoint(PurePath(file.file).parents))
    events = tuple(event for event in evidence.events if others.isdisjoint(PurePath(event.place.file).parents))
    left_out = {item.process for item in (*evidence.files, *evidence.events)}
    left_out -= {item.process for item in (*files, *events)}
    return evidence._replace(files=files, events=events), frozenset(left_out)


def start_of(file: str) -> int:
    """Which start of its run a file is of: 0 for the first one, N for restart N."""
    restart = _RESTART.fullmatch(PurePath(file).parent.name)
    return int(restart[1]) if restart else 0


def _runs(evidence: Evidence) -> list[Run]:
    names: dict[PurePath, set[str]] = defaultdict(set)
    for file in (*(file.file for file in evidence.files), *(event.place.file for event in evidence.events)):
        path = PurePath(file)
        if _NOTES.fullmatch(path.name) or (_OF_RANK.fullmatch(path.name) and _NAME.fullmatch(_folder(file).name)):
            names[_folder(file)].add(path.name)
    if len(names) < 2:
        return []
    events: dict[PurePath, list[Event]] = defaultdict(list)
    for event in evidence.events:
        for folder in names.keys() & set(PurePath(event.place.file).parents):
            events[folder].append(event)
    return [_run(folder, files, events[folder]) for folder, files in names.items()]


def _run(folder: PurePath, files: Set[str], events: Iterable[Event]) -> Run:
    by_process = grouped((event.process, event) for event in events)
    times = [event.time for of_process in by_process.values() for event in of_process if event.time is not None]
    return Run(any(map(has_failure, by_process.values())), max(times, default=0.0), folder, files)


def _folder(file: str) -> PurePath:
    """The folder of the run, of all its starts."""
    folder = PurePath(file).parent
    return folder.parent if start_of(file) else folder


def _other_folders(runs: list[Run]) -> Set[PurePath]:
    """The folders with a file of the same name as the run that failed last has, or one that is nearer to it in time."""
    if not runs:
        return frozenset()
    failed = max(runs)
    taken: set[str] = set()
    others = set()
    for run in sorted(runs, key=lambda run: (run != failed, abs(run.last - failed.last))):
        if taken.isdisjoint(run.files):
            taken |= run.files
        else:
            others.add(run.folder)
    return others
