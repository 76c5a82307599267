"""A fact with all that its line says about it; the file adds the place and the process."""

from __future__ import annotations

from typing import NamedTuple

from hccl_kit.diagnosis.facts import Fact


class Noted(NamedTuple):
    """A fact, its line, its time, whether the line reports a failure, and the process that the line names."""

    line: int
    fact: Fact
    time: float | None = None
    is_error: bool = False
    pid: int | None = None
    rank: int | None = None
    server: str | None = None
