"""The process that reads archives, compressed logs and dumps: what they ask for, or break, is only its own.

Its standard input is a socket. A request is a line of JSON and the descriptor of a file: nothing is opened here. The
answers on standard output are lines too: READING with a name and a path, for each log before it is read; FOUND with
what it gave; and at last ENDED, with the reason if the rest cannot be read. What a log gave is a line of JSON, of which
every value is checked against the type that its field names.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import PurePath
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from hccl_kit.base.limited_child import Limits, allow_seconds
from hccl_kit.diagnosis.facts import Event, Fact, LogFile, Place, Process
from hccl_kit.diagnosis.logs import archives, sources
from hccl_kit.diagnosis.logs.log_file import Found, Log, read_log

LIMITS = Limits(memory=1 << 30, seconds=60)
"""Of the process; the seconds are those from one piece of input, of a megabyte at most, to the next."""
READING, FOUND, ENDED = b"R", b"F", b"E"
MAX_REQUEST = 1 << 16


class Request(NamedTuple):
    """A file: its name for people, its absolute path (for its worker and rank only), and when it was changed.

    `is_archive`: it is one of tar, whatever it begins with. The first `skipped` logs in it are left out. `seconds` and
    `most` limit how long it is waited for, and how many bytes are read.
    """

    name: str
    path: str
    changed: float | None = None
    is_archive: bool = False
    skipped: int = 0
    seconds: float | None = None
    most: int | None = None


def read_file(log: Log, begin: Callable[[Log], object] = id, skipped: int = 0) -> Iterator[Found]:
    """What a file, or each log in an archive, gave; `begin` gets each log before it is read.

    Raises DamagedError if the rest of an archive cannot be read.
    """
    pieces = archives.unpacked(log.pieces)
    try:
        first = archives.start(pieces)
    except (OSError, archives.DamagedError) as error:
        yield Found(None, (), (f"{log.name} cannot be read: {sources.why(error)}",))
        return
    whole = log._replace(pieces=chain([first], pieces))
    if archives.is_tar(first):
        yield from read_archive(whole, begin, skipped)
    else:
        yield read_log(whole)


def read_archive(log: Log, begin: Callable[[Log], object] = id, skipped: int = 0) -> Iterator[Found]:
    """What each log in an archive of tar gave, as `read_file` does."""
    for member in archives.members(log.pieces):
        path = sources.inside(log.path, member.name)
        if not sources.OF_LOGS.fullmatch(path.name):
            continue
        if skipped:
            skipped -= 1
            continue
        inside = Log(f"{log.name}:{member.name}", path, member.changed, archives.unpacked(member.pieces))
        begin(inside)
        yield read_log(inside)


def _pieces(descriptor: int, request: Request, processor: int) -> Iterator[bytes]:
    left, end = request.most, time.monotonic() + (request.seconds or 0)
    while True:
        if request.seconds is not None:
            wait = end - time.monotonic()
            if wait <= 0 or not select.select([descriptor], [], [], wait)[0]:
                raise archives.DamagedError("no answer in time")
        piece = os.read(descriptor, archives.PIECE)
        if not piece:
            return
        if left is not None:
            left -= len(piece)
            if left < 0:
                raise archives.DamagedError(f"more than {request.most} bytes")
        allow_seconds(processor)
        yield piece


def _answer(request: Request, descriptor: int, processor: int) -> None:
    def tell(kind: bytes, line: bytes) -> None:
        sys.stdout.buffer.write(kind + line + b"\n")
        sys.stdout.buffer.flush()

    def begin(log: Log) -> None:
        tell(READING, json.dumps((log.name, str(log.path))).encode())

    log = Log(request.name, PurePath(request.path), request.changed, _pieces(descriptor, request, processor))
    why = None
    try:
        for part in (read_archive if request.is_archive else read_file)(log, begin, request.skipped):
            tell(FOUND, to_line(part))
        for _ in log.pieces:  # what follows an archive: a full pipe would stop the process that sends it
            pass
    except (OSError, archives.DamagedError) as error:
        why = sources.why(error)
    except MemoryError:
        why = "it takes too much memory"
    tell(ENDED, json.dumps(why).encode())


def main(processor: int) -> None:
    """Answer requests until there are no more; `processor` is how many seconds of it a piece of input may take."""
    with socket.socket(fileno=0) as requests:
        while True:
            line, descriptors, _, _ = socket.recv_fds(requests, MAX_REQUEST, 1)
            while line and not line.endswith(b"\n"):
                line += requests.recv(MAX_REQUEST)
            if not line:
                return
            try:
                _answer(Request(*json.loads(line)), descriptors[0], processor)
            finally:
                os.close(descriptors[0])


_FACTS = {kind.__name__: kind for kind in get_args(Fact)}


def to_line(part: Found) -> bytes:
    """One line, without its end."""
    events = [(*event[:-1], type(event.fact).__name__, event.fact) for event in part.events]
    return json.dumps((part.file, events, part.notes), separators=(",", ":")).encode()


def from_line(line: bytes) -> Found:
    """Raises ValueError, TypeError or KeyError if it is not a line of `to_line`."""
    file, events, notes = json.loads(line)
    return Found(
        _parsed(LogFile | None, file),
        tuple(
            Event(
                _parsed(Process, process),
                _parsed(Place, place),
                _parsed(float | None, at),
                _parsed(bool, is_error),
                _parsed(_FACTS[name], fact),
            )
            for process, place, at, is_error, name, fact in events
        ),
        _parsed(tuple[str, ...], notes),
    )


def _parsed(hint: Any, value: Any) -> Any:
    """The value of the type `hint` that a value of JSON stands for. Raises ValueError if it stands for none."""
    kind, inner = _shape(hint)
    if kind in (Union, UnionType):
        for each in inner:
            with suppress(ValueError):
                return _parsed(each, value)
    elif kind is Literal:
        if value in inner:
            return value
    elif isinstance(value, list) and kind is tuple:
        return tuple(_parsed(inner[0], item) for item in value)
    elif isinstance(value, list) and kind is hint:
        return hint(*(_parsed(each, item) for each, item in zip(inner, value, strict=True)))
    elif type(value) in ((int, float) if hint is float else (hint,)):
        return value
    raise ValueError(value)


@cache
def _shape(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """What kind of type it is, itself if it has fields, and the types in it."""
    if hasattr(hint, "_fields"):
        return hint, tuple(get_type_hints(hint).values())
    return get_origin(hint), get_args(hint)


if __name__ == "__main__":
    main(int(sys.argv[1]))
