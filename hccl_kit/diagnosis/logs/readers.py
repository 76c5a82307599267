"""Processes with limits that read what may be hostile, one file after the other, and what they told."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath

from hccl_kit.base.interruptible import POLL, is_interrupted
from hccl_kit.base.limited_child import limited_program, why_ended
from hccl_kit.base.message import Message
from hccl_kit.base.wording import sentences
from hccl_kit.diagnosis.facts import LogFile
from hccl_kit.diagnosis.logs import reader_process, torch_dump
from hccl_kit.diagnosis.logs.log_file import Found, events_of, unread
from hccl_kit.diagnosis.logs.reader_process import ENDED, FOUND, READING, Request
from hccl_kit.diagnosis.logs.workers import process_of

MAX_LINE = 256 << 20
"""Bytes of an answer: what the most telling log gives is far below."""
ATTEMPTS = 5
"""How often an archive is read on after a log in it that ended the reader."""
_PIECE = 1 << 20


class InterruptedReadingError(Exception):
    """A signal came; the reader has been ended."""


class EndedError(Exception):
    """The reader has told that it cannot read the rest of a file; the text says why."""


class _DiedError(Exception):
    """The process has ended; the text says why."""


class Reader:
    """A process that is started for the first file, and again for the next one if a file ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def read(self, descriptor: int, request: Request) -> Iterator[Found]:
        """What an open file gave. A log that ends the reader gives a note, and its file as one that is cut.

        Raises EndedError if the rest cannot be read, InterruptedReadingError at a signal.
        """
        for attempt in range(ATTEMPTS):
            logs: list[tuple[str, PurePath]] = []
            try:
                yield from self._answers(descriptor, request, logs)
                return
            except _DiedError as error:
                name, path = logs[-1] if logs else (request.name, PurePath(request.path))
                is_last = not logs or attempt + 1 == ATTEMPTS or not _rewound(descriptor)
                yield _unread(name, path, str(error), request.name if logs and is_last else "")
                if is_last:
                    return
                request = request._replace(skipped=request.skipped + len(logs))

    def close(self) -> int:
        """End the process; its exit code."""
        process, requests = self._process, self._requests
        self._process = self._requests = None
        if process is None or requests is None or process.stdout is None:
            return 0
        requests.close()
        process.stdout.close()
        process.kill()
        return process.wait()

    def _answers(self, descriptor: int, request: Request, logs: list[tuple[str, PurePath]]) -> Iterator[Found]:
        requests, answers = self._started()
        try:
            line = json.dumps(request).encode() + b"\n"
            requests.sendall(line[socket.send_fds(requests, [line], [descriptor]) :])
            for answer in _lines(answers):
                kind, value = answer[:1], answer[1:]
                if kind == READING:
                    name, path = json.loads(value)
                    logs.append((str(name), PurePath(path)))
                elif kind == FOUND:
                    yield reader_process.from_line(value)
                elif kind == ENDED and (why := json.loads(value)):
                    raise EndedError(why)
                else:
                    return
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise _DiedError(why_ended(self.close(), reader_process.LIMITS)) from None
        except EndedError:
            raise
        except BaseException:
            self.close()
            raise

    def _started(self) -> tuple[socket.socket, int]:
        if self._process is None:
            ours, theirs = socket.socketpair()
            with theirs:
                limits = reader_process.LIMITS
                self._process = subprocess.Popen(
                    limited_program(limits, reader_process.__name__, str(limits.seconds)),
                    stdin=theirs.fileno(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C is for this process, which then ends it
                )
            self._requests = ours
        assert self._requests
        assert self._process.stdout
        return self._requests, self._process.stdout.fileno()


class Readers:
    """As many readers as are in use at a time; they end with the block."""

    def __init__(self) -> None:
        self._idle: list[Reader] = []

    @contextmanager
    def one(self) -> Iterator[Reader]:
        """A reader for one file."""
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = Reader()
        try:
            yield reader
        finally:
            self._idle.append(reader)

    def __enter__(self) -> Readers:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._idle:
            reader.close()


def _unread(name: str, path: PurePath, why: str, archive: str) -> Found:
    """A log that ended the reader: nothing is known of what its process did, but that it is there.

    `archive`: what follows it there is not read.
    """
    rest = [Message("diagnosis.rest", "what follows it in {archive} is not read", archive=archive)] if archive else []
    process, notes = process_of(path), (sentences([unread(name, why), *rest]),)
    if noted := torch_dump.unread(path.name):
        return Found(None, events_of(name, process, noted), notes)
    return Found(LogFile(process, name, 0, None, None, cut=why), (), notes)


def _rewound(descriptor: int) -> bool:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
    except OSError:  # a pipe
        return False
    return True


def _lines(descriptor: int) -> Iterator[bytes]:
    """Lines without their ends. Raises EOFError if there are no more, or if one is too long."""
    parts: list[bytes] = []
    size = 0
    while size < MAX_LINE:
        while not select.select([descriptor], [], [], POLL)[0]:
            if is_interrupted():
                raise InterruptedReadingError
        piece = os.read(descriptor, _PIECE)
        if not piece:
            break
        *ends, rest = piece.split(b"\n")
        for end in ends:
            yield b"".join([*parts, end])
            parts, size = [], 0
        parts.append(rest)
        size += len(rest)
    raise EOFError
