"""One log, as a stream of bytes, to the facts in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.wording import system_reason
from hccl_kit.diagnosis.facts import Dumped, Event, Joined, LogFile, Noted, Place, Process
from hccl_kit.diagnosis.logs import archives, run_folder, torch_dump
from hccl_kit.diagnosis.logs.assembling import SEARCH, Assembler
from hccl_kit.diagnosis.logs.plog import records
from hccl_kit.diagnosis.logs.scanning import Line, Scanned, scan
from hccl_kit.diagnosis.logs.tracebacks import ends_open
from hccl_kit.diagnosis.logs.workers import process_of

_CONTROLS = bytes(range(7))
"""What no terminal takes; a bell and a backspace are of progress bars."""
MIN_TEXT = 100
"""Of so many bytes of a text, one may be a control character: MPI_Abort of Open MPI 5 writes a NUL."""
EDGE_LINES = 300
"""Lines that are searched for the first and the last time of a file."""


class Log(NamedTuple):
    """A log: its name for people, its absolute path (in an archive as if that were a folder), its last change."""

    name: str
    path: PurePath
    changed: float | None
    pieces: Iterator[bytes]


class Found(NamedTuple):
    """What a log gave; `file` is None for what is not a log. Notes are sentences."""

    file: LogFile | None
    events: tuple[Event, ...]
    notes: tuple[str, ...] = ()


class _Counted:
    """Iterates over pieces until their end or an error, and counts their bytes."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self.size = 0
        self.cut: str | None = None
        self.end = b""

    def __iter__(self) -> Iterator[bytes]:
        try:
            for piece in self._pieces:
                self.size += len(piece)
                self.end = piece[-1:] or self.end
                yield piece
        except archives.DamagedError as error:
            self.cut = str(error)
        except OSError as error:
            self.cut = system_reason(error)


def _is_text(head: bytes) -> bool:
    return (len(head) - len(head.translate(None, _CONTROLS))) * MIN_TEXT <= len(head)


def _cut(log: Log, counted: _Counted) -> tuple[str, ...]:
    return (cut_off(log.name, counted.cut),) if counted.cut else ()


def cut_off(name: str, why: str) -> Message:
    """The note on a log of which the end is missing."""
    return Message("diagnosis.cut-log", "{file} was not read to its end: {reason}", file=name, reason=why)


def unread(name: str, why: str) -> Message:
    """The note on a log that cannot be read."""
    return Message("diagnosis.unread-log", "{file} cannot be read: {reason}", file=name, reason=why)


def _without_end(counted: _Counted) -> str | None:
    is_whole = counted.end in (b"", b"\n")
    return None if is_whole else Message("diagnosis.no-line-end", "its last line has no end")


def _empty(process: Process, counted: _Counted) -> str | None:
    """A plog is made when there is something to write, so an empty one has lost it."""
    is_lost = process.pid is not None and not counted.size
    return Message("diagnosis.empty-log", "it is empty") if is_lost else None


_NOT_READ = {b"PK\3\4": "zip", b"7z\xbc\xaf": "7z", b"Rar!": "rar", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}
"""How files begin whose formats are not read; those of gzip, xz and tar are."""


def read_log(log: Log) -> Found:
    """All that a log states; an error in the middle of it ends it, and is noted."""
    counted = _Counted(log.pieces)
    process = process_of(log.path)
    kind = run_folder.kind_of(log.path.name)
    if kind:
        return _read_kind(log, counted, process, kind)
    pieces = iter(counted)
    first = next(pieces, b"")
    if packer := next((name for start, name in _NOT_READ.items() if first.startswith(start)), None):
        note = Message(
            "diagnosis.packed", "{file} is packed with {packer}: unpack it first", file=log.name, packer=packer
        )
        return Found(None, (), (note,))
    if torch_dump.is_dump(log.path.name, first):
        return _of_dump(log, counted, process, chain([first], pieces))
    assembler = Assembler()
    scanned = scan(chain([first], pieces), SEARCH, assembler.take)
    noted = assembler.end()
    notes = list(_cut(log, counted))
    if not (noted or _is_text(scanned.head)):
        return Found(None, (), (*notes, Message("diagnosis.no-text", "{file} is not text", file=log.name)))
    if not counted.size and counted.cut:
        return Found(None, (), (unread(log.name, counted.cut),))
    if scanned.has_long_lines:
        notes.append(
            Message(
                "diagnosis.long-lines", "{file} has lines that are too long: their ends were not read", file=log.name
            )
        )
    if scanned.left_out:
        notes.append(
            Message(
                "diagnosis.repeats",
                "{file} repeats itself: {number} similar lines were not kept",
                file=log.name,
                number=scanned.left_out,
            )
        )
    if assembler.earlier:
        notes.append(
            Message(
                "diagnosis.earlier-lines",
                "{file} has the output of several runs: its first {number} lines are of earlier ones",
                file=log.name,
                number=assembler.earlier,
            )
        )
    head, tail = _edges(scanned)
    cut = counted.cut or _without_end(counted) or _empty(process, counted)
    has_error = any(record.level == "ERROR" for line in (*head, *tail) for record in records(line)) or ends_open(tail)
    file = LogFile(process, log.name, counted.size, _time(head), _time(reversed(tail)), cut, has_error)
    return Found(file, events_of(log.name, process, noted), tuple(notes))


def _read_kind(log: Log, counted: _Counted, process: Process, kind: run_folder.Kind) -> Found:
    """What a file with a form of its own states. Of a record, the form shows if a part is missing: that is a note."""
    stated = list(kind.read(_lines(counted), run_folder.About(process.rank, log.changed)))
    noted = [each for each in stated if isinstance(each, Noted)]
    cut, notes = counted.cut, _cut(log, counted)
    if kind.is_record:
        cut = cut or _without_end(counted) or next((each for each in stated if isinstance(each, str)), None)
        notes = (_not_whole(log, cut),) if cut else ()
    return Found(LogFile(process, log.name, counted.size, None, None, cut), events_of(log.name, process, noted), notes)


def _not_whole(log: Log, why: str) -> Message:
    return Message("diagnosis.not-whole", "{file} is not whole: {reason}", file=log.name, reason=why)


def _of_dump(log: Log, counted: _Counted, process: Process, pieces: Iterator[bytes]) -> Found:
    """What a dump of torch's flight recorder states; one that cannot be read gives a note and no file."""
    noted, why = torch_dump.read(log.path.name, pieces)
    why = counted.cut or why
    if why:
        noted = [note for note in noted if isinstance(note.fact, Dumped) and note.fact.is_cut]
        note = Message(
            "diagnosis.bad-dump",
            "{file} is not a readable dump of torch's flight recorder: {reason}",
            file=log.name,
            reason=why,
        )
        return Found(None, events_of(log.name, process, noted), (note,))
    file = LogFile(process, log.name, counted.size, None, None)
    is_cut = any(isinstance(note.fact, Dumped) and note.fact.is_cut for note in noted)
    missing = Message("diagnosis.cut-dump", "collectives are missing in it, or cannot be read")
    notes = (_not_whole(log, missing),) if is_cut else ()
    return Found(file, events_of(log.name, process, noted), notes)


def events_of(name: str, process: Process, noted: list[Noted]) -> tuple[Event, ...]:
    """The events of a file. The pid in its name counts most; a log of one rank belongs to one process.

    Each host that lines of a file name is a worker of its own if there are several: their pids are not of one host.
    """
    pids = {note.pid for note in noted if note.pid is not None}
    has_hosts = len({note.server for note in noted if note.server is not None}) > 1
    if process.pid is None and process.rank is not None and len(pids) == 1:
        process = process._replace(pid=pids.pop())
    ranks: dict[Process, int] = {} if process.rank is None else {_known(process): process.rank}
    events = []
    for note in noted:
        source = process
        if process.pid is None and process.rank is None:
            worker = f"{process.worker}/{note.server}" if has_hosts and note.server else process.worker
            source = Process(worker, note.pid, note.rank)
            if note.rank is not None:
                ranks.setdefault(_known(source), note.rank)
        events.append(Event(_known(source), Place(name, note.line), note.time, note.is_error, note.fact))
    by_name = (Event(source, Place(name, 1), None, False, Joined(None, rank)) for source, rank in ranks.items())
    return (*by_name, *events)


def _known(process: Process) -> Process:
    return process if process.pid is None else process._replace(rank=None)


def _lines(pieces: Iterable[bytes]) -> Iterator[Line]:
    """All lines of a small file: `scan` would leave out those without a key."""
    number, rest = 1, b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield Line(number, line[: 1 << 20].decode("utf-8", "replace").rstrip("\r"), True)
            number += 1
        rest = rest[: 1 << 20]
    if rest:
        yield Line(number, rest.decode("utf-8", "replace"), False)


def _edges(scanned: Scanned) -> tuple[list[str], list[str]]:
    """The first and the last lines of a log."""
    head = scanned.head.decode("utf-8", "replace").split("\n")[:EDGE_LINES]
    tail = scanned.tail.decode("utf-8", "replace").split("\n")[-EDGE_LINES:]
    return head, tail


def _time(lines: Iterable[str]) -> float | None:
    times = (record.time for line in lines for record in records(line) if record.time is not None)
    return next(times, None)
