"""Which process a log belongs to, by its name and its folder.

The worker stands for a host or a container. It is the nearest folder above the file that is not part of the layout of
the logs themselves (debug, run, plog, device-N, process_log, ascend/log): worker-0, rank_76, the name of a host, the
folder of a run. An archive counts as a folder with its name. The pid is that of the file's name, which is the one on
the host, also for logs of the card; lines may name others.

Several processes may have one pid on one worker: a container that is started again often has the same pids. Their logs
differ by the time in the names of the files, which is when a file was begun. A process begins one file in each folder
(debug/plog, run/plog, run/device-N), and another one only where it has filled the first. So a second file after one
that was not full is of another process. If both were written at one time, the logs of several servers are in one
folder. Then only files that were begun at the same moment are known to be of one process.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import PurePath
from typing import NamedTuple

from hccl_kit.diagnosis.facts import MAX_RANK, LogFile, Process

_LAYOUT = re.compile(
    r"debug|run|security|operation|plog|device-[0-9]{1,6}|process_log|ascend|logs?|ascend_logs?|(?:attempt|restart)_[0-9]{1,4}"
)
_ATTEMPT = re.compile(r"attempt_[0-9]{1,4}")
_ARCHIVE = re.compile(r"(.+?)(?:\.tar|\.tgz|\.txz|\.zip)(?:\.[a-z0-9]{2,3})?")
_PID = re.compile(r"(?:plog|device)-(?:parser-)?([0-9]{1,10})[_-][0-9]{1,20}\.log(?:\.(?:gz|xz))?")
_RANK = re.compile(
    r"(?:rank_|worker_|step_|error_|facts_|rank-)([0-9]{1,8})(?:\.(?:log|json|jsonl|out|err|txt))?(?:\.1)?(?:\.(?:gz|xz))?"
)

_OF_MPI = re.compile(r"rank\.([0-9]{1,8})/std(?:out|err)")
"""mpirun --output-filename FOLDER: FOLDER/1/rank.0/stdout (Open MPI 4.1.4, open-mpi/ompi 7095 and 11032)."""


def process_of(path: PurePath) -> Process:
    """The process of the log at an absolute `path`. Its worker is still a whole path; `short_names` shortens it."""
    folders = [_without_suffix(part) for part in path.parts[:-1]]
    if folders[-1].isdecimal() and len(folders) > 1 and _ATTEMPT.fullmatch(folders[-2]):
        folders[-1] = f"local_rank_{folders[-1]}"
    while len(folders) > 2 and _LAYOUT.fullmatch(folders[-1]):
        folders.pop()
    pid = _PID.fullmatch(path.name)
    rank = _RANK.fullmatch(path.name) or _OF_MPI.fullmatch("/".join(path.parts[-2:]))
    number = int(rank[1]) if rank else MAX_RANK
    return Process(str(PurePath(*folders)), int(pid[1]) if pid else None, number if number < MAX_RANK else None)


def _without_suffix(part: str) -> str:
    match = _ARCHIVE.fullmatch(part)
    return match[1] if match else part


def short_names(workers: Iterable[str]) -> Mapping[str, str]:
    """A name for each worker's path: as many of its last folders as make it unique."""
    paths = {worker: PurePath(worker).parts for worker in workers}
    names: dict[str, str] = {}
    length = 1
    while len(names) < len(paths):
        tails: dict[str, list[str]] = {}
        for worker, parts in paths.items():
            if worker not in names:
                tails.setdefault("/".join(parts[-length:]), []).append(worker)
        for tail, of in tails.items():
            if (len(of) == 1 and tail not in names.values()) or length > 64:
                names.update((worker, tail) for worker in of)
        length += 1
    return names


FULL = 1 << 20
"""Bytes of a file after which the next one may be of the same process; CANN's own limit is 20 MiB."""
TOGETHER = 60.0
"""Seconds within which a process begins its first files."""
OVERLAP = 1.0
"""Seconds; lines of several threads are not in the exact order of their times."""
_BEGUN = re.compile(r"(?:plog|device)-[0-9]{1,10}_([0-9]{14})([0-9]{3})\.log(?:\.(?:gz|xz))?")


class _Begun(NamedTuple):
    time: float
    folder: str
    file: LogFile


class Reused:
    """Which of several processes that had one pid: the number is 0 for the first, and for a pid of one process."""

    def __init__(self, files: Iterable[LogFile]) -> None:
        by_pid: dict[tuple[str, int], list[_Begun]] = defaultdict(list)
        for file in files:
            path = PurePath(file.file)
            time = _time(path.name)
            if file.process.pid is not None and time is not None:
                by_pid[file.process.worker, file.process.pid].append(_Begun(time, str(path.parent), file))
        self._of_file: dict[str, int] = {}
        self._starts: dict[tuple[str, int], list[float]] = {}
        self.unpaired: set[str] = set()
        """Files that may be of any of several processes that had one pid at one time."""
        shared = {worker for (worker, _), begun in by_pid.items() if _are_at_one_time(begun)}
        for key, begun in by_pid.items():
            is_mixed = key[0] in shared and len({process.folder for process in begun}) < len(begun)
            numbers = _by_begin(sorted(begun)) if is_mixed else _numbers(sorted(begun))
            if is_mixed:
                sizes = Counter(number for _, number in numbers)
                self.unpaired.update(process.file.file for process, number in numbers if sizes[number] == 1)
            if numbers[-1][1]:
                self._of_file.update((process.file.file, number) for process, number in numbers)
                starts: dict[int, float] = {}
                for process, number in numbers:
                    starts.setdefault(number, process.time)
                self._starts[key] = list(starts.values())

    def number(self, worker: str, pid: int | None, file: str, time: float | None) -> int:
        """The number of the process of a file, or of a line that names a pid, by its time; without one the last."""
        if file in self._of_file:
            return self._of_file[file]
        starts = self._starts.get((worker, pid)) if pid is not None else None
        if not starts:
            return 0
        return len(starts) - 1 if time is None else max(0, bisect_right(starts, time) - 1)


def _time(name: str) -> float | None:
    match = _BEGUN.fullmatch(name)
    try:
        return (
            datetime.strptime(f"{match[1]}+0000", "%Y%m%d%H%M%S%z").timestamp() + int(match[2]) / 1e3 if match else None
        )
    except ValueError:
        return None


def _are_at_one_time(begun: Iterable[_Begun]) -> bool:
    """Whether two files of one pid in one folder were written at one time: so those of several hosts are in it."""
    ends: dict[str, float] = {}
    for process in sorted(begun, key=lambda process: process.file.first or 0.0):
        if process.file.first is None or process.file.last is None:
            continue
        if process.file.first < ends.get(process.folder, 0.0) - OVERLAP:
            return True
        ends[process.folder] = max(ends.get(process.folder, 0.0), process.file.last)
    return False


def _by_begin(begun: Iterable[_Begun]) -> list[tuple[_Begun, int]]:
    """Each file with the number of its process, if only files that were begun at the same moment are of one."""
    numbers: dict[float, int] = {}
    return [(process, numbers.setdefault(process.time, len(numbers))) for process in begun]


def _numbers(begun: list[_Begun]) -> list[tuple[_Begun, int]]:
    """Each file with the number of its process, by the order in which the files were begun."""
    number, last = 0, dict[str, _Begun]()
    numbers = []
    for together in _groups(begun):
        # The debug log of a process may be begun before its run log, which shows that the process is another one.
        is_new = any(_is_of_other(last, process) for process in together)
        for place, process in enumerate(together):
            if (is_new and place == 0) or _is_of_other(last, process):
                number, last = number + 1, {}
            last[process.folder] = process
            numbers.append((process, number))
    return numbers


def _is_of_other(last: Mapping[str, _Begun], process: _Begun) -> bool:
    before = last.get(process.folder)
    return before is not None and before.time < process.time and before.file.size < FULL


def _groups(begun: Iterable[_Begun]) -> Iterable[list[_Begun]]:
    group: list[_Begun] = []
    for process in begun:
        if group and process.time - group[-1].time > TOGETHER:
            yield group
            group = []
        group.append(process)
    if group:
        yield group
