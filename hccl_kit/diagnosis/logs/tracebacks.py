"""Python tracebacks in the output of a program, of which the exception and the user's own last frame are kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

from hccl_kit.diagnosis.errors.message import MAX_WORD
from hccl_kit.diagnosis.facts import Fault, Noted
from hccl_kit.diagnosis.logs.faults import of_exception
from hccl_kit.diagnosis.logs.origins import without_prefix
from hccl_kit.diagnosis.logs.plog import Record

APART = 32
"""Maximum number of lines between an exception and its message."""
AWAITED = 500
"""Lines until the end of a traceback is given up."""
MAX_OPEN = 1024
MAX_HEADINGS = 3
"""Lines of a message that follow an exception without one: MindSpore's begin with headings between rules."""
_HEAD = "Traceback (most recent call last)"
_EXCEPTION = re.compile(
    r"(?P<name>[A-Za-z_][\w.]{0,120}(?:Error|Exception|Exit|Interrupt|Warning|Timeout|Failure|Fault|(?P<group>Group)))(?::|$)"
)
_GUTTER = re.compile(r" {1,40}[|+](?: |(?=-)|$)")
"""Before each line of a group of exceptions and of its parts."""
_OF_LAUNCHER = re.compile(
    r"(?:\w{1,60}\.){0,6}ChildFailedError:"
    r"|RuntimeError: (?:Distributed job exited with exception|The total number of timed out node is)"
)
"""What torchrun, msrun and MindSpore's scheduler raise when a rank has ended: it is no error of a rank."""
_PASSED_ON = re.compile(
    r"(?:\w{1,60}\.){0,6}(?:\w{1,60}: Caught \w{1,60} in |ProcessRaisedException:|RuntimeError: Exception thrown from )"
)
"""Exceptions that pass on another one, whose traceback follows: of torch's DataLoader and spawn (torch 2.13), and of
MindSpore's datasets (2.10), which may have no traceback, but a line with an error."""
_FRAME = re.compile(r'^ {0,8}File "(?P<file>[^"\n]{1,500})", line (?P<line>[0-9]{1,9})')
_BOX = "│╰"
"""How the lines of a traceback in a box begin (rich 15); the exception is below the box."""
_INDENTED = (" ", "\t", "-", *_BOX)
"""How the lines between the first one of a traceback and its exception begin."""
_IN_BOX = re.compile(r"(?P<file>/[^:\n]{1,500}):(?P<line>[0-9]{1,9}) ?in ")
_HEADLESS = re.compile(_FRAME.pattern + "(?:, in |$)")
"""A frame of a traceback without its first line: it was cut off, or the error is one of syntax. In dumps of stacks no
comma follows the number."""
_LIBRARY = re.compile(r"(?:site|dist)-packages/|/lib/python[0-9.]{1,5}/|/bin/[^/]+$|^<")
"""Files that are not the user's own code."""
_WAITS = re.compile(r"/torch/(?:distributed|autograd)/|/torch_npu/|/mindspore/(?:common|communication|ops)/")
"""Files of frameworks in which a rank may wait for others."""
_REQUEST = re.compile(r"/uvicorn/protocols/|/entrypoints/(?:\w+/){0,4}serving\w*\.py$")
"""Files of servers through which each request goes: its error does not end the server.

Paths of encode/uvicorn and vllm-project/vllm, read in November 2026."""
_ERROR = "[ERROR] "
"""Begins the line of MindSpore that says which step of a data pipeline failed."""
_RULE = re.compile(r"[-=]{4,}$")

Who = tuple[int | None, int | None, str | None]
"""Pid, rank and server of a line."""


def who(noted: Noted) -> Who:
    """The process of a line, as far as the line names it."""
    return noted.pid, noted.rank, noted.server


def ends_open(lines: Sequence[str]) -> bool:
    """Whether the last lines of a file are the beginning of a traceback: its exception is cut off."""
    heads = [number for number, line in enumerate(lines) if _HEAD in line]
    return bool(heads) and all(_text(line)[:1] in ("", *_INDENTED) for line in lines[heads[-1] + 1 :])


def _text(line: str) -> str:
    return _GUTTER.sub("", without_prefix(line), count=1)


class _Traceback(NamedTuple):
    """A traceback from its first line on: the last frame of the user's own code, then the exception as far as it is.

    `is_group`: it is a group of exceptions, whose first one is awaited. `passes_on`: it passes on one that is awaited.
    `outer`: the exception that passes this one on. `is_request`: it is of a request to a server, which goes on.
    `waits`: see Fault. `path`: the first part of a path in a box.
    """

    line: int
    frame: str = ""
    waits: bool = False
    raised: Noted | None = None
    headings: tuple[str, ...] = ()
    is_group: bool = False
    passes_on: bool = False
    outer: Noted | None = None
    is_request: bool = False
    path: str = ""

    def below(self, frame: re.Match[str]) -> _Traceback:
        """The traceback with a further frame."""
        if _REQUEST.search(frame["file"]):
            return self._replace(is_request=True)
        if _LIBRARY.search(frame["file"]):
            return self._replace(waits=self.waits or _WAITS.search(frame["file"]) is not None)
        return self._replace(frame=f"{PurePath(frame['file']).name}:{frame['line']}", waits=False)

    def in_box(self, text: str) -> _Traceback:
        """The traceback with a line in a box, where a path that is too long goes on in the next line."""
        line = text.strip().strip("│").strip()
        path = line if line.startswith("/") else self.path and (self.path + line)[:MAX_WORD]
        frame = _IN_BOX.match(path)
        above = self._replace(path=path if line and not frame else "")
        return above.below(frame) if frame else above


def _raised(noted: Noted, exception: re.Match[str]) -> Noted:
    return noted._replace(fact=of_exception(exception["name"].split(".")[-1], exception.string))


class Tracebacks:
    """Takes the lines of one file in order; a traceback becomes a fault when its exception has a message."""

    def __init__(self) -> None:
        self._open: dict[Who, _Traceback] = {}
        self._faults: list[Noted] = []

    @property
    def is_open(self) -> bool:
        """Whether the next line may belong to a traceback."""
        return bool(self._open)

    def take(self, noted: Noted, record: Record) -> bool:
        """Take a line; whether it is an exception, the first line of its traceback that is not indented."""
        process, line = who(noted), noted.line
        text = _text(record.text)
        if process in self._open and self._open[process].is_group:
            return self._part(process, self._open[process], record, text)
        if is_head := _HEAD in text:
            self._head(process, line)
        elif process not in self._open and _HEADLESS.match(text) and len(self._open) < MAX_OPEN:
            self._open[process] = _Traceback(line)
        traceback = None if is_head else self._open.get(process)
        if traceback is None or not record.is_whole or not text.strip():
            return False
        if traceback.raised is not None:
            self._heading(process, traceback, text.strip(), line)
        elif frame := _FRAME.match(text):
            self._open[process] = traceback.below(frame)
        elif text.startswith(_BOX[0]):
            self._open[process] = traceback.in_box(text)
        elif text[0] not in _INDENTED:
            del self._open[process]
            if _OF_LAUNCHER.match(text):
                return True
            if match := _EXCEPTION.match(text):
                is_group, passes_on = bool(match["group"]), _PASSED_ON.match(text) is not None
                self._open[process] = traceback._replace(
                    line=line, raised=_raised(noted, match), is_group=is_group, passes_on=passes_on
                )
                if not (is_group or passes_on or text.rstrip().endswith(":")):
                    self._close(process)
                return True
        return False

    def finished(self, before: int | None = None) -> list[Noted]:
        """The faults since the last call. Those that began before this line (None: all) are given up waiting for."""
        for process, traceback in list(self._open.items()):
            if before is not None and traceback.line >= before:
                break  # they are in the order of lines
            self._close(process)
        faults, self._faults = self._faults, []
        return faults

    def _head(self, process: Who, line: int) -> None:
        """The first line of a traceback; if one before it passes this one on, that is told only if this one is cut."""
        before = self._open.get(process)
        if before is not None and before.passes_on and line - before.line <= APART:
            self._open[process] = _Traceback(line, before.frame, outer=before.raised)
            return
        self._close(process)
        if len(self._open) < MAX_OPEN:
            self._open[process] = _Traceback(line)

    def _part(self, process: Who, group: _Traceback, record: Record, text: str) -> bool:
        """A line below a group of exceptions: the first one of the group tells more than the group."""
        if frame := _FRAME.match(text):
            self._open[process] = group.below(frame)
        elif (match := _EXCEPTION.match(text)) and group.raised:
            self._open[process] = group._replace(raised=_raised(group.raised, match), is_group=bool(match["group"]))
            if not match["group"]:
                self._close(process)
        elif text == without_prefix(record.text):
            self._close(process)
        return False

    def _heading(self, process: Who, traceback: _Traceback, text: str, line: int) -> None:
        """A line after an exception without a message: a rule, a heading, or the message."""
        if traceback.passes_on:
            is_message = text.startswith(_ERROR)
            self._open[process] = traceback._replace(headings=(text.removeprefix(_ERROR),) if is_message else ())
            if is_message or line - traceback.line > APART:
                self._close(process)
            return
        is_over = line - traceback.line > APART or len(traceback.headings) == MAX_HEADINGS
        if _RULE.match(text) and not is_over:
            return
        if not is_over:
            heading = text.removeprefix("- ").rstrip(":")
            self._open[process] = traceback._replace(headings=(*traceback.headings, heading))
        if is_over or not text.startswith("- "):
            self._close(process)

    def _close(self, process: Who) -> None:
        """End a traceback: the exception has the message that follows it."""
        traceback = self._open.pop(process, None)
        raised = traceback and (traceback.raised or traceback.outer)
        if traceback is None or raised is None or traceback.is_request:
            return
        fault = raised.fact
        assert isinstance(fault, Fault)
        if traceback.headings:
            name, _, message = fault.text.strip().rstrip(":").partition(": ")
            parts = (name, *((message,) if message and not traceback.passes_on else ()), *traceback.headings)
            fault = of_exception(name.split(".")[-1], ": ".join(parts))
        fault = fault._replace(raised_at=traceback.frame, waits=traceback.waits)
        self._faults.append(raised._replace(fact=fault))
