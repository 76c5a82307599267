"""Which process a log belongs to, by its name and its folder.

The worker stands for a host or a container. It is the nearest folder above the file that is not part of the layout of
the logs themselves (debug, run, plog, device-N, process_log, ascend/log): worker-0, rank_76, the name of a host, the
folder of a run. An archive counts as a folder with its name. The pid is that of the file's name, which is the one on
the host, also for logs of the card; lines may name others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath

from hccl_kit.diagnosis.facts import MAX_RANK, Process

_LAYOUT = re.compile(
    r"debug|run|security|operation|plog|device-[0-9]{1,6}|process_log|ascend|logs?|ascend_logs?|(?:attempt|restart)_[0-9]{1,4}"
)
_ARCHIVE = re.compile(r"(.+?)(?:\.tar|\.tgz|\.txz|\.zip)(?:\.[a-z0-9]{2,3})?")
_PID = re.compile(r"(?:plog|device)-(?:parser-)?([0-9]{1,10})[_-][0-9]{1,20}\.log(?:\.(?:gz|xz))?")
_RANK = re.compile(
    r"(?:rank_|worker_|step_|error_|facts_|rank-)([0-9]{1,8})(?:\.(?:log|json|jsonl|out|err|txt))?(?:\.1)?(?:\.(?:gz|xz))?"
)


def process_of(path: PurePath) -> Process:
    """The process of the log at an absolute `path`. Its worker is still a whole path; `short_names` shortens it."""
    folders = [_without_suffix(part) for part in path.parts[:-1]]
    while len(folders) > 2 and _LAYOUT.fullmatch(folders[-1]):
        folders.pop()
    pid, rank = _PID.fullmatch(path.name), _RANK.fullmatch(path.name)
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
