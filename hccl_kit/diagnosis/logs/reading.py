"""Read logs: whatever is given, to the facts in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.logs.assembling import Assembler, Stated
from hccl_kit.diagnosis.logs.facts import Event, Evidence, LogFile, Place, Process
from hccl_kit.diagnosis.logs.plog import records
from hccl_kit.diagnosis.logs.run_folder import read_run_file, reads
from hccl_kit.diagnosis.logs.workers import process_of

Progress = Callable[[int, int], None]
"""Told how much of all is read, in one unit."""


def read(paths: Sequence[Path], progress: Progress | None = None) -> Evidence:
    """All that the logs state. Raises KitError if nothing could be read."""
    files: list[LogFile] = []
    events: list[Event] = []
    notes: list[str] = []
    for path in paths:
        names = sorted(_files(path))
        for done, name in enumerate(names):
            if progress:
                progress(done, len(names))
            try:
                data = name.read_bytes()
            except OSError as error:
                notes.append(f"{name} could not be read: {error.strerror}")
                continue
            reader = read_run_file if reads(str(name)) else read_file
            file, found = reader(str(name), process_of(name), data)
            files.append(file)
            events += found
    if not files:
        raise KitError(f"no logs in {', '.join(map(str, paths))}")
    return Evidence(tuple(files), tuple(events), tuple(notes))


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    for folder, _, names in os.walk(path):
        yield from (Path(folder) / name for name in names)


def read_file(name: str, process: Process, data: bytes) -> tuple[LogFile, list[Event]]:
    """The facts of one file."""
    assembler = Assembler()
    stated: list[tuple[float | None, Stated]] = []
    first = last = None
    lines = data.decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines, 1):
        for record in records(line.rstrip("\r"), is_whole=number < len(lines)):
            if record.time is not None:
                first, last = record.time if first is None else first, record.time
            stated += [(last, one) for one in assembler.take(number, record)]
    stated += [(last, one) for one in assembler.end()]
    events = [
        Event(
            process if process.pid is not None else process._replace(pid=one.record.pid),
            Place(name, one.line),
            one.record.time if one.record.time is not None else time,
            one.record.level == "ERROR" or one.record.level is None,
            one.fact,
        )
        for time, one in stated
    ]
    events.sort(key=lambda event: event.place.line)
    return LogFile(process, name, len(data), first, last), events
