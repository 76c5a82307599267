"""Read the files of our own launch scripts and programs in the folder of a run.

facts_<rank>.jsonl    what the rank did last (hccl_kit.runtime.flight_recorder)
step_<rank>           the last step of the rank (hccl_kit.runtime.heartbeat)
launcher_<server>     what the bash script saw, a line each: "TIME exited RANK CODE", "TIME ending WHY RANK CODE" or
                      "TIME lost SERVER RANK ..."
end_<rank>            how a rank of the Slurm script ended: "CODE DEVICE HOST"
failed                how ranks of the msrun script ended, in order: "worker_RANK CODE"
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

from hccl_kit.diagnosis.logs.facts import (
    Alive,
    Collective,
    Event,
    Exited,
    Fact,
    JobEnding,
    Joined,
    LogFile,
    Place,
    Process,
    ProgramEnded,
    ServerLost,
    Step,
)

MAX_BYTES = 1 << 20
"""Of a file; the largest that we write has a twentieth of it."""
MAX_TEXT = 4_000


class _Stated(NamedTuple):
    line: int
    time: float | None
    fact: Fact
    is_error: bool = False


def reads(name: str) -> bool:
    """Whether this is the name of such a file."""
    return _reader(name) is not None


def read_run_file(name: str, process: Process, data: bytes) -> tuple[LogFile, list[Event]]:
    """The facts of a file; what is not as we write it is passed over."""
    found = _reader(name)
    assert found is not None, name
    reader, rank = found
    lines = data[:MAX_BYTES].decode("utf-8", "replace").split("\n")
    stated = list(reader(rank, lines))
    for one in stated:
        if isinstance(one.fact, Joined) and one.fact.server:  # ranks of several hosts may share the folder
            process = process._replace(worker=one.fact.server)
    times = [one.time for one in stated if one.time is not None]
    events = [Event(process, Place(name, one.line), one.time, one.is_error, one.fact) for one in stated]
    cut = "it is larger than such a file ever is" if len(data) > MAX_BYTES else None
    return LogFile(process, name, len(data), min(times, default=None), max(times, default=None), cut), events


def _reader(name: str) -> tuple[Callable[[int, list[str]], Iterator[_Stated]], int] | None:
    for pattern, reader in _READERS:
        if found := pattern.fullmatch(PurePath(name).name):
            return reader, int(found[1] or 0)
    return None


def _facts(rank: int, lines: list[str]) -> Iterator[_Stated]:
    for number, line in enumerate(lines, 1):
        row = _object(line)
        if row is None:
            continue
        if "start" in row:
            ranks, host = _integer(row, "ranks"), _text(row, "host")
            yield _Stated(
                number, _time(row, "start"), Joined(None, rank, ranks, host, physical=_integer(row, "device"))
            )
        elif "alive" in row:
            doing, since = _text(row, "doing"), _time(row, "since")
            yield _Stated(number, _time(row, "alive"), Alive(rank, _integer(row, "step") or 0, doing, since))
        elif "ended" in row:
            how, message = _text(row, "ended") or "", _text(row, "message") or ""
            yield _Stated(number, _time(row, "time"), ProgramEnded(rank, how, message), how != "done")
        elif (sequence := _integer(row, "n")) is not None:
            fact = Collective(
                rank, sequence, _text(row, "op") or "", _integer(row, "bytes"), False, _integer(row, "step")
            )
            yield _Stated(number, _time(row, "begun"), fact)
            if (left := _time(row, "left")) is not None:
                yield _Stated(number, left, fact._replace(left=True))


def _step(rank: int, lines: list[str]) -> Iterator[_Stated]:
    if re.fullmatch("[0-9]{1,18}", lines[0], re.ASCII):
        yield _Stated(1, None, Step(rank, int(lines[0])))


_EXITED = re.compile(r"([0-9]{1,11}) exited ([0-9]{1,7}) ([0-9]{1,3})")
_ENDING = re.compile(r"([0-9]{1,11}) ending ([a-z]{1,10}) (-?[0-9]{1,7}) ([0-9]{1,3})")
_LOST = re.compile(r"([0-9]{1,11}) lost (\S{1,255})((?: [0-9]{1,7})*)")


def _launcher(_: int, lines: list[str]) -> Iterator[_Stated]:
    is_ending = False
    for number, line in enumerate(lines, 1):
        if found := _EXITED.fullmatch(line):
            exited = _exited(int(found[2]), int(found[3]), by_launcher=is_ending)
            yield _Stated(number, float(found[1]), exited, is_error=not is_ending)
        elif found := _ENDING.fullmatch(line):
            is_ending = True
            rank = int(found[3])
            fact = JobEnding(found[2], rank if rank >= 0 else None, int(found[4]))
            yield _Stated(number, float(found[1]), fact, is_error=True)
        elif found := _LOST.fullmatch(line):
            lost = ServerLost(found[2], tuple(map(int, found[3].split())))
            yield _Stated(number, float(found[1]), lost, is_error=True)


def _end(rank: int, lines: list[str]) -> Iterator[_Stated]:
    if found := re.fullmatch(r"([0-9]{1,3}) [0-9]{1,9} \S{1,255}", lines[0]):
        yield _Stated(1, None, _exited(rank, int(found[1]), by_launcher=False), is_error=True)


def _failed(_: int, lines: list[str]) -> Iterator[_Stated]:
    """Only the first of them has failed by itself for certain: msrun ends the others."""
    is_first = True
    for number, line in enumerate(lines, 1):
        if found := re.fullmatch(r"worker_([0-9]{1,7}) ([0-9]{1,3})", line):
            yield _Stated(number, None, _exited(int(found[1]), int(found[2]), by_launcher=not is_first), is_first)
            is_first = False


_READERS = (
    (re.compile(r"facts_([0-9]{1,7})\.jsonl"), _facts),
    (re.compile(r"step_([0-9]{1,7})"), _step),
    (re.compile(r"launcher_([0-9]{1,7})"), _launcher),
    (re.compile(r"end_([0-9]{1,7})"), _end),
    (re.compile(r"failed()"), _failed),
)


def _exited(rank: int, code: int, *, by_launcher: bool) -> Exited:
    if code > 128:
        return Exited(rank, None, code - 128, by_launcher)
    return Exited(rank, code, None, by_launcher)


def _object(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


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
