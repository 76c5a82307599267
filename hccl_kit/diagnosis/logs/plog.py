"""The grammar of one line of a log: records of HCCL's plogs, messages on the screen, and lines that continue a record.

    [LEVEL] MODULE(PID,PROGRAM):YYYY-MM-DD-HH:MM:SS.mmm.uuu [file.cc:LINE] [THREAD]text

Frameworks glue prefixes to it, releases differ in blanks, and a lost newline puts two records into one line. MindIE's
own lines are `[TIME] [PID] [THREAD] [COMPONENT] [LEVEL] [FILE-LINE] : [CODE] text` (its page on logs, 2025).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from hccl_kit.diagnosis.logs.origins import NOBODY, Origin, joined, named, origin_of, prefix_of
from hccl_kit.diagnosis.moments import time_of

MAX_TEXT = 16 << 10
"""Characters of a line that are searched, in time linear to their number."""


class Record(NamedTuple):
    """One message. `level` is None, and so is the rest, for a line without a header.

    `time` is in seconds since 1970 as if the clock were UTC; None if there is none or it does not exist. `text` starts
    after the thread. `is_screen`: the message was printed for people (EI0006: ...), not into a plog. `is_whole`: the
    end of the line is the end of the message, so a list in it is complete.
    """

    level: str | None
    module: str | None
    pid: int | None
    time: float | None
    thread: str | None
    text: str
    is_screen: bool = False
    is_whole: bool = True
    origin: Origin = NOBODY
    """Who the line, or what a launcher put before it, names."""


_DATE = (
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}[- ][0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:\.(?P<milli>[0-9]{3}))?(?:\.(?P<micro>[0-9]{3}))?"
)
_HEADER = re.compile(
    r"\[(?P<level>ERROR|INFO|EVENT|WARNING|DEBUG|TRACE)\] ?(?P<module>[A-Z][A-Z0-9_]{0,15})"
    r"\((?P<pid>[0-9]{1,10})(?::[0-9]{1,20})?, ?(?:[0-9a-f]{8,16},)?[^,()\n]{0,64}\) ?:"
    rf"(?: ?{_DATE})?"
)
_START = re.compile(r"\[(?:ERROR|INFO|EVENT|WARNING|DEBUG|TRACE)\] ?[A-Z][A-Z0-9_]{0,15}\([0-9]{1,10}[,:]")
_STATUS = re.compile(r" ?\[status:\w{0,20}\]")
_FILE = re.compile(r" ?\[[\w.+-]{1,80}:[0-9]{1,6}\]")
_THREAD = re.compile(
    r" ?(?:\[(?P<first>[0-9]{1,10})\](?:\[(?P<second>[0-9]{1,10})\])?"
    r"|\[(?P<group>hccl-[^\]\[]{1,120})\]\[(?P<rank>[0-9]{1,10})\]"
    r"|\(?\[?tid:(?P<tid>[0-9]{1,10})[\]),]+"
    r"|(?P<bare>[0-9]{1,10}) (?=[A-Za-z_~]))"
)
_SCREEN = re.compile(
    rf"(?:(?P<code>E[A-Z0-9][0-9]{{4}}): (?:\[PID: (?P<pid>[0-9]{{1,10}})\] ?)?{_DATE}"
    rf"|\[PID: (?P<pid2>[0-9]{{1,10}})\] {_DATE.replace('P<', 'P<s')} (?=[\w/ ]{{0,60}}\(E[A-Z0-9][0-9]{{4}}\)))"
)
_TORCH = re.compile(
    r"\[(?P<level>ERROR|WARNING|INFO)\] (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}[- ][0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:\.(?P<milli>[0-9]{3}))? \(PID:[0-9]{1,10}, Device:-?[0-9]{1,10}, RankID:-?[0-9]{1,10}\)"
)
_MINDIE = re.compile(
    r"\[(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}[- T][0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:[.,](?P<milli>[0-9]{3})(?P<micro>[0-9]{3})?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?\] ?"
    r"(?:\[(?P<pid>[0-9]{1,10})\] ?\[(?P<thread>[0-9]{1,20})\] ?\[[\w-]{1,40}\] ?|: ?)"
    r"\[(?P<level>DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL)\] ?(?:\[[^\[\]]{1,120}[-:][0-9]{1,6}\] ?)?:? ?"
)
"""MindIE's verbose header, and its plain one without process and file."""
_CLOSED = "])|;}"


def records(line: str, *, is_whole: bool = True) -> Iterator[Record]:
    """The records of a line without its line break; one without a header if it has none.

    `is_whole` is False for the end of a file that may have been cut there: then only the text up to the last closing
    bracket counts, since a number before the cut may lack digits.
    """
    if "\r" in line:  # a progress bar, of which the first and the last state are read
        states = line.split("\r")
        for state in dict.fromkeys((states[0], states[-1])):
            yield from records(state, is_whole=is_whole or state is not states[-1])
        return
    if line.startswith(_DOCKER):
        line = _text_of_docker(line)
    if "\x1b" in line:
        line = _COLOR.sub("", line)
    if not is_whole:
        line = line[: max(map(line.rfind, _CLOSED)) + 1]
    starts = [match.start() for match in _START.finditer(line)]
    if not starts:
        yield _without_header(line, is_whole)
        return
    origin = prefix_of(line[: min(starts[0], MAX_TEXT)])[1]
    for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
        record = _with_header(line[start:end], is_whole or end < len(line))
        yield record._replace(origin=joined(origin_of(record.text), origin))


def _with_header(text: str, is_whole: bool) -> Record:
    header = _HEADER.match(text)
    if not header:
        return Record(None, None, None, None, None, text[:MAX_TEXT], is_whole=is_whole)
    end = header.end()
    for part in (_STATUS, _FILE):
        if match := part.match(text, end):
            end = match.end()
    thread = None
    if match := _THREAD.match(text, end):
        thread = next(
            (value for value in (match["second"], match["first"], match["tid"], match["bare"]) if value), None
        )
        # The name of a communicator in place of the thread is more useful than the thread: it stays in the text.
        end = match.start() if match["group"] else match.end()
    return Record(
        header["level"],
        header["module"],
        int(header["pid"]),
        time_of(header["date"], header["milli"], header["micro"]),
        thread,
        text[end : end + MAX_TEXT],
        is_whole=is_whole and len(text) - end <= MAX_TEXT,
    )


_DOCKER = '{"log":"'
"""How a line begins in the files of docker's driver json-file."""


def _text_of_docker(line: str) -> str:
    try:
        return str(json.loads(line)["log"]).rstrip("\r\n")
    except (ValueError, RecursionError):  # cut, or not of docker
        return line


_COLOR = re.compile(r"\x1b\[[0-9;]{0,20}[mK]")


def _without_header(line: str, is_whole: bool) -> Record:
    is_whole = is_whole and len(line) <= MAX_TEXT
    line = line[:MAX_TEXT]
    origin = named(line)
    if match := _TORCH.search(line):
        time = time_of(match["date"], match["milli"], None)
        text = line[match.end() :]
        return Record(match["level"], "TORCH", origin.pid, time, None, text, False, is_whole, origin)
    if (match := _MINDIE.match(line)) and not _SCREEN.search(line):
        time = time_of(match["date"], match["milli"], match["micro"])
        level = {"CRITICAL": "ERROR", "WARN": "WARNING"}.get(match["level"], match["level"])
        pid = int(match["pid"]) if match["pid"] else origin.pid
        text, thread = line[match.end() :], match["thread"]
        return Record(level, "MINDIE", pid, time, thread, text, False, is_whole, origin)
    if not (match := _SCREEN.search(line)):
        return Record(None, None, origin.pid, None, None, line, False, is_whole, origin)
    pid = int(match["pid"] or match["pid2"] or 0) or origin.pid
    date = match["date"] or match["sdate"]
    time = time_of(date, match["milli"] or match["smilli"], match["micro"] or match["smicro"])
    # The code stays in the text: it is what the message says.
    text = line[match.start("code") if match["code"] else match.end() :]
    return Record("ERROR", None, pid, time, None, text, True, is_whole, origin)
