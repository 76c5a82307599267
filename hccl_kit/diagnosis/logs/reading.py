"""Read logs of any kind and return their facts: as a stream, in bounded memory, with two processes if that pays.

Lines of text are read here. What has to be unpacked, or read as a whole, may be hostile: a process with limits does it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.interruptible import interruptible, is_interrupted
from hccl_kit.base.message import Message
from hccl_kit.diagnosis.errors.row import with_reason
from hccl_kit.diagnosis.facts import Event, Evidence, Joined, Process
from hccl_kit.diagnosis.logs import archives, sources, torch_dump
from hccl_kit.diagnosis.logs.log_file import Found, Log, cut_off, read_log, unread
from hccl_kit.diagnosis.logs.reader_process import Request
from hccl_kit.diagnosis.logs.readers import EndedError, Readers
from hccl_kit.diagnosis.logs.remote import Remote, read_remote
from hccl_kit.diagnosis.logs.sources import Given
from hccl_kit.diagnosis.logs.workers import Reused, short_names

Progress = Callable[[int, int], None]
"""Called with the number of bytes that are read, and of all bytes."""

MANY = 64 << 20
"""Bytes from which on a second process pays for its start."""
PROCESSES = 2
_START = 512
"""Bytes that tell whether a file is an archive, compressed or a dump."""
MAX_EVENTS = 400_000
MAX_NOTES = 100
SHARED_PID = "other logs with its pid may be of the same process"


def read(paths: Sequence[Path], progress: Progress | None = None, remote: Remote | None = None) -> Evidence:
    """All that the logs state, with those of `remote` hosts. Raises KitError if nothing could be read."""
    given, notes = sources.listing(paths)
    total, done = sum(log.size for log in given), 0
    contents: list[Found] = []

    def keep(parts: Iterable[list[Found]]) -> None:
        nonlocal done
        for log, part in zip(given, parts, strict=True):
            contents.extend(part)
            done += log.size
            if progress:
                progress(done, total)

    with Readers() as readers:
        if total < MANY or len(given) < 2:
            keep(_read_given(log, readers) for log in given)
        else:
            interruptible(lambda: _read_apart(given, readers, keep))
    for part in read_remote(remote) if remote else ():
        contents += part
    return evidence_of(contents, notes)


def _read_apart(given: Sequence[Given], readers: Readers, keep: Callable[[Iterable[list[Found]]], None]) -> None:
    """Read all files in PROCESSES processes."""

    def read_one(log: Given) -> list[Found]:
        return [] if is_interrupted() else _read_given(log, readers, apart=True)

    with ThreadPoolExecutor(PROCESSES) as pool:
        keep(pool.map(read_one, given))


def _read_given(given: Given, readers: Readers, *, apart: bool = False) -> list[Found]:
    """What a file, or each member of an archive, gave."""
    name, path = str(given.path), given.path.absolute()
    contents: list[Found] = []
    try:
        with sources.opened(given) as descriptor:
            if not apart and _is_lines(path.name, descriptor):
                return [read_log(Log(name, path, given.changed, sources.pieces_of(descriptor)))]
            with readers.one() as reader:
                contents.extend(reader.read(descriptor, Request(name, str(path), given.changed)))
    except OSError as error:
        contents.append(Found(None, (), (unread(name, sources.why(error)),)))
    except EndedError as error:
        contents.append(Found(None, (), (cut_off(name, str(error)),)))
    return contents


def _is_lines(name: str, descriptor: int) -> bool:
    """Whether a file can be read line by line: it is neither packed nor a dump."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return False
    first = os.pread(descriptor, _START, 0)
    return not (archives.is_packed(first) or torch_dump.is_dump(name, first))


def evidence_of(contents: Iterable[Found], notes: Iterable[str]) -> Evidence:
    """What all files gave, with short names of workers. Raises KitError if no file could be read."""
    parts = list(contents)
    all_notes = [*notes, *(note for part in parts for note in part.notes)]
    files = [part.file for part in parts if part.file]
    if not files:
        none = Message("diagnosis.no-log-found", "no log was found")
        raise KitError(
            with_reason(none, all_notes[0]) if all_notes else none,
            hint=Message(
                "diagnosis.no-log-found.fix",
                "name the folder of the logs, such as ~/ascend/log or that of the launcher",
            ),
        )
    events = [event for part in parts for event in part.events]
    if len(events) > MAX_EVENTS:
        all_notes.append(
            Message(
                "diagnosis.many-facts",
                "only the first {most} of {number} facts were kept",
                most=MAX_EVENTS,
                number=len(events),
            )
        )
    if len(all_notes) > MAX_NOTES:
        more = len(all_notes) - MAX_NOTES
        all_notes[MAX_NOTES:] = [Message("diagnosis.and-notes", "and {number} more notes", number=more)]
    names = short_names({*(file.process.worker for file in files), *(event.process.worker for event in events)})
    pids, reused = _pids(events), Reused(files)
    if reused.unpaired:
        all_notes.append(
            Message(
                "diagnosis.equal-pids",
                "{number} logs are of processes with equal pids at one time; it is not known which belong together: put"
                " those of each server into a folder of its own",
                number=len(reused.unpaired),
            )
        )

    def known(process: Process, file: str, time: float | None) -> Process:
        pid = pids.get((process.worker, process.rank)) if process.pid is None else process.pid
        number = reused.number(process.worker, pid, file, time)
        return Process(names[process.worker], pid, process.rank if pid is None else None, number)

    return Evidence(
        tuple(
            file._replace(
                process=known(file.process, file.file, file.last),
                cut=file.cut or (SHARED_PID if file.file in reused.unpaired else None),
            )
            for file in files
        ),
        tuple(
            event._replace(process=known(event.process, event.place.file, event.time)) for event in events[:MAX_EVENTS]
        ),
        tuple(all_notes),
    )


def _pids(events: Iterable[Event]) -> dict[tuple[str, int | None], int]:
    """The pid of a rank where one file names both, such as error_3.json, for files that name the rank only."""
    pids: dict[tuple[str, int | None], set[int]] = {}
    for process, *_, fact in events:
        if process.pid is not None and isinstance(fact, Joined) and fact.group is None:
            pids.setdefault((process.worker, fact.rank), set()).add(process.pid)
    return {key: next(iter(values)) for key, values in pids.items() if len(values) == 1}
