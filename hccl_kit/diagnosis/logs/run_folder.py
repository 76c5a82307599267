"""Files that have a form of their own, by their names: what our launch scripts and programs leave in a run's folder.

step_<rank>           the last step that a rank of our trainer has finished; empty once it has ended well
error_<rank>.json     an exception that ended a rank
facts_<rank>.jsonl    what the rank did last (hccl_kit.runtime.flight_recorder)
launcher_<server>     what the bash script saw, a line each: "TIME exited RANK CODE DEVICE HOST",
                      "TIME ending WHY RANK CODE" or "TIME lost SERVER RANK ..."

To add one: a function and a row of KINDS. Any other file is read as a log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from hccl_kit.diagnosis.errors.message import rank as rank_of
from hccl_kit.diagnosis.facts import (
    MAX_RANK,
    Alive,
    Collective,
    Exited,
    JobEnding,
    Joined,
    Noted,
    ProcessStopped,
    ProgramEnded,
    ServerLost,
    Step,
)
from hccl_kit.diagnosis.logs.faults import of_exception
from hccl_kit.diagnosis.logs.scanning import Line
from hccl_kit.runtime.flight_recorder import RING, VERSION
from hccl_kit.runtime.pulse import POINTS

MAX_LINES = 20_000
MAX_LINE = 8_000
MAX_TEXT = 4_000
MAX_JSON = 1 << 20
"""Characters of an object that is a whole file."""
RECORD_LINES = 3 + RING + POINTS


class About(NamedTuple):
    """The rank in the name of a file, and when it was last changed, in seconds since 1970."""

    rank: int | None
    changed: float | None


Reader = Callable[[Iterator[Line], About], Iterator[Noted | str]]
"""Gets the lines of a file and what is known about it, and yields what it notes, and why the file is not whole, if it
shows that; it never fails.
"""


class Kind(NamedTuple):
    """Files whose whole name matches `pattern`, and their reader. `is_record`: a whole one has all of its lines."""

    pattern: re.Pattern[str]
    read: Reader
    is_record: bool = False


def kind_of(name: str) -> Kind | None:
    """The kind of a file with a form of its own; None for a log."""
    return next((kind for kind in KINDS if kind.pattern.fullmatch(name)), None)


def _step(lines: Iterator[Line], about: About) -> Iterator[Noted]:
    line = next(lines, None)
    if line and about.rank is not None and re.fullmatch(r"[0-9]{1,15}", line.text):
        yield Noted(1, Step(about.rank, int(line.text)), about.changed)


def _error(lines: Iterator[Line], _about: About) -> Iterator[Noted]:
    row = _parsed("\n".join(line.text for line in islice(lines, MAX_LINES)))
    rank, pid, when = _integer(row, "rank"), _integer(row, "pid"), _time(row, "time")
    if rank is None or rank >= MAX_RANK:
        return
    joined = Joined(None, rank, server=_text(row, "host") or None, logic=_integer(row, "device"))
    name = _text(row, "exception") or ""
    yield Noted(1, joined, when, False, pid, rank)
    yield Noted(1, of_exception(name, f"{name}: {_text(row, 'message') or ''}"), when, True, pid, rank)


def _facts(lines: Iterator[Line], about: About) -> Iterator[Noted | str]:
    """The records of a rank; lines of any other form are skipped.

    All lines are there from the start, blank or not, so a whole record has each in its place, and the last RING
    collectives without a gap. If not, it is damaged or cut, and the rank may have done more than it says.
    """
    number, numbers, is_damaged, is_newer = 0, set[int](), False, False
    for number, line in enumerate(islice(lines, MAX_LINES), 1):
        row = _object(line)
        sequence = _integer(row, "n")
        if number == 1:
            is_newer = (_integer(row, "version") or 0) > VERSION
            is_damaged = "start" not in row
        elif number == 2:
            is_damaged |= "alive" not in row
        elif sequence is not None:
            numbers.add(sequence)
            is_damaged |= sequence % RING != number - 4
        else:
            is_damaged |= bool(line.text.strip()) and not row
        if about.rank is not None:
            yield from _line_facts(number, row, about.rank)
    last = max(numbers, default=0)
    is_whole = number == RECORD_LINES and numbers == set(range(max(1, last - RING + 1), last + 1))
    if not is_newer and (is_damaged or not is_whole):
        yield "lines of it are missing"


def _line_facts(number: int, row: dict[str, Any], rank: int) -> Iterator[Noted]:
    """What a line of a record states."""
    if "start" in row:
        joined = Joined(None, rank, _integer(row, "ranks"), server=_text(row, "host"), physical=_integer(row, "device"))
        yield Noted(number, joined, _time(row, "start"), pid=_integer(row, "pid"), rank=rank)
    elif "alive" in row:
        alive = Alive(rank, _integer(row, "step") or 0, _text(row, "doing"), _time(row, "since"))
        yield Noted(number, alive, _time(row, "alive"), rank=rank)
    elif "ended" in row:
        how, message = _text(row, "ended") or "", _text(row, "message") or ""
        ended = ProgramEnded(rank, how, message)
        yield Noted(number, ended, _time(row, "time"), is_error=how != "done", rank=rank)
    elif (sequence := _integer(row, "n")) is not None:
        step, size, operator = _integer(row, "step"), _integer(row, "bytes"), _text(row, "op") or ""
        entered = Collective(rank, sequence, operator, size, False, step)
        yield Noted(number, entered, _time(row, "begun"), rank=rank)
        if (left := _time(row, "left")) is not None:
            yield Noted(number, entered._replace(left=True), left, rank=rank)


_EXITED = re.compile(r"([0-9]{1,11}) exited ([0-9]{1,7}) ([0-9]{1,3})(?: ([0-9]{1,6}) ([\w.:-]{1,255}))?", re.ASCII)
_ENDING = re.compile(r"([0-9]{1,11}) ending ([a-z]{1,10}) (-?[0-9]{1,7}) ([0-9]{1,3})")
_STOPPED = re.compile(r"([0-9]{1,11}) stopped ([0-9]{1,7})")
_LOST = re.compile(r"([0-9]{1,11}) lost (\S{1,255})((?: [0-9]{1,7})*)")


def _launcher(lines: Iterator[Line], _about: About) -> Iterator[Noted]:
    """The notes of a script; a rank that ends after "ending" was ended by the script.

    Codes are as a shell prints them: 128 and more are signals.
    """
    is_ending = False
    for line in islice(lines, MAX_LINES):
        if not line.is_whole:
            continue
        if match := _EXITED.fullmatch(line.text):
            rank, code = rank_of(match[2]), int(match[3])
            if rank is not None:
                signal = code - 128 if 128 < code < 193 else None
                ended = Exited(rank, None if signal else code, signal, is_ending)
                if match[5]:
                    ended = ended._replace(server=match[5], physical=int(match[4]))
                yield Noted(line.number, ended, float(match[1]), not is_ending, rank=rank)
        elif match := _ENDING.fullmatch(line.text):
            is_ending = True
            ending = JobEnding(match[2], rank_of(match[3]), int(match[4]))
            yield Noted(line.number, ending, float(match[1]), is_error=True)
        elif (match := _STOPPED.fullmatch(line.text)) and (rank := rank_of(match[2])) is not None:
            yield Noted(line.number, ProcessStopped(rank), float(match[1]), is_error=True)
        elif match := _LOST.fullmatch(line.text):
            ranks = [rank for word in match[3].split() if (rank := rank_of(word)) is not None]
            yield Noted(line.number, ServerLost(match[2], tuple(ranks)), float(match[1]), is_error=True)


KINDS = (
    Kind(re.compile(r"step_[0-9]{1,8}"), _step),
    Kind(re.compile(r"error_[0-9]{1,8}\.json"), _error),
    Kind(re.compile(r"facts_[0-9]{1,8}\.jsonl"), _facts, is_record=True),
    Kind(re.compile(r"launcher_[0-9]{1,8}"), _launcher),
)


def _object(line: Line) -> dict[str, Any]:
    return _parsed(line.text) if line.text.startswith("{") and len(line.text) < MAX_LINE else {}


def _parsed(text: str) -> dict[str, Any]:
    """The object that a text is; empty if it is none, or too long."""
    try:
        row = json.loads(text) if len(text) <= MAX_JSON else None
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _integer(row: dict[str, Any], key: str) -> int | None:
    value = row.get(key)
    is_whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62
    return value if is_whole else None


def _time(row: dict[str, Any], key: str) -> float | None:
    value = row.get(key)
    is_time = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e11
    return float(value) if value is not None and is_time else None


def _text(row: dict[str, Any], key: str) -> str | None:
    value = row.get(key)
    return value[:MAX_TEXT] if isinstance(value, str) else None
