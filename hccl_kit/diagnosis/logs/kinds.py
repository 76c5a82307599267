"""Files that have a format of their own, by their names. To add one: a function and a row.

A reader gets the lines of a file and what is known about it, and yields what it notes; it never fails. Any other file
is read as a log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hccl_kit.diagnosis.facts import MAX_RANK, Joined, Step
from hccl_kit.diagnosis.logs import run_folder
from hccl_kit.diagnosis.logs.faults import of_exception
from hccl_kit.diagnosis.logs.noted import Noted
from hccl_kit.diagnosis.logs.plog import MAX_TEXT
from hccl_kit.diagnosis.logs.scanning import Line

MAX_JSON = 1 << 20
"""Characters of an object that is read as a whole."""


class About(NamedTuple):
    """The rank in the name of a file, and when it was last changed, in seconds since 1970."""

    rank: int | None
    changed: float | None


Reader = Callable[[Iterator[Line], About], Iterator[Noted]]


class Kind(NamedTuple):
    """Files whose whole name matches `pattern`, and their reader. `is_record`: a whole one has all of its lines."""

    pattern: re.Pattern[str]
    read: Reader
    is_record: bool = False


def kind_of(name: str) -> Kind | None:
    """The kind of a file with a form of its own; None for a log."""
    return next((kind for kind in KINDS if kind.pattern.fullmatch(name)), None)


def _step(lines: Iterator[Line], about: About) -> Iterator[Noted]:
    """`step_RANK`: the last step that a rank of our trainer has finished; empty once it has ended well."""
    line = next(lines, None)
    if line and about.rank is not None and re.fullmatch(r"[0-9]{1,15}", line.text):
        yield Noted(1, Step(about.rank, int(line.text)), about.changed)


def _error(lines: Iterator[Line], _about: About) -> Iterator[Noted]:
    """`error_RANK.json`: an exception that ended a rank."""
    row = _object(lines)
    rank, pid, time = _integer(row.get("rank")), _integer(row.get("pid")), row.get("time")
    if rank is None or rank >= MAX_RANK:
        return
    when = float(time) if isinstance(time, (int, float)) and 0 <= time < 1e11 else None
    server = _text(row.get("host"), 255) or None
    name, message = _text(row.get("exception"), 120), _text(row.get("message"), MAX_TEXT)
    yield Noted(1, Joined(None, rank, server=server, logic=_integer(row.get("device"))), when, False, pid, rank)
    yield Noted(1, of_exception(name, f"{name}: {message}"), when, True, pid, rank)


def _object(lines: Iterator[Line]) -> dict[str, Any]:
    text, size = [], 0
    for line in lines:
        size += len(line.text)
        if size > MAX_JSON:
            return {}
        text.append(line.text)
    try:
        value = json.loads("\n".join(text))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: object, most: int) -> str:
    return value[:most] if isinstance(value, str) else ""


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32 else None


KINDS = (
    Kind(re.compile(r"step_[0-9]{1,8}"), _step),
    Kind(re.compile(r"error_[0-9]{1,8}\.json"), _error),
    Kind(
        re.compile(r"facts_[0-9]{1,8}\.jsonl"), lambda lines, about: run_folder.facts(lines, about.rank), is_record=True
    ),
    Kind(re.compile(r"launcher_[0-9]{1,8}"), lambda lines, _: run_folder.launcher(lines)),
)
