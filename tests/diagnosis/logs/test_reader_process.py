"""What a reader process tells is what it has read, and is checked."""

import json
from pathlib import PurePath
from typing import Any

import pytest

from hccl_kit.diagnosis.facts import Card, Connected, Event, Heartbeat, LogFile, OperatorTimedOut, Place, Process
from hccl_kit.diagnosis.logs.log_file import Found, Log, read_log
from hccl_kit.diagnosis.logs.reader_process import from_line, to_line
from tests.diagnosis.logs.lines import plog

PROCESS = Process("/w\udcff", 7)
FACTS = (
    Connected((1, 2), None),
    Heartbeat(Card("n1", 3, None), None, 4, "lost", is_verdict=True, arrival=1.5),
    OperatorTimedOut(1, 2, "local", None, "x"),
)
FOUND = Found(
    LogFile(PROCESS, "a.log", 5, 1.0, None, "it is empty"),
    tuple(Event(PROCESS, Place("a.log", 1), 2.5, True, fact) for fact in FACTS),
    ("a note",),
)


def test_what_was_found_comes_back() -> None:
    log = Log("x.log", PurePath("/w/x.log"), None, iter([plog("wait socket establish timeout, role[1]").encode()]))
    for found in (FOUND, read_log(log), Found(None, ())):
        assert from_line(to_line(found)) == found


@pytest.mark.parametrize(
    ("at", "value"),
    [
        ((1, 0, 5, 0), [1, "2"]),
        ((1, 0, 5, 0), 1),
        ((1, 1, 5, 3), "dead"),
        ((1, 1, 5, 0), ["n1", 3]),
        ((1, 2, 5, 0), True),
        ((1, 2, 4), "Popen"),
        ((1, 2, 3), 1),
        ((0, 1), None),
        ((2,), "a note"),
    ],
)
def test_values_of_other_types_are_refused(at: tuple[int, ...], value: Any) -> None:
    line = json.loads(to_line(FOUND))
    inner = line
    for index in at[:-1]:
        inner = inner[index]
    inner[at[-1]] = value
    with pytest.raises((ValueError, TypeError, KeyError)):
        from_line(json.dumps(line).encode())
