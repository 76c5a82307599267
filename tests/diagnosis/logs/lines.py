"""Lines of logs for tests, in the grammar of HCCL."""

from __future__ import annotations

from pathlib import PurePath

from hccl_kit.diagnosis.facts import Event, Fact
from hccl_kit.diagnosis.logs.log_file import Log, read_log

GROUP = "10.1.2.3%eth0_60000_0_1750000000123456"
TIME = 1_750_000_000.5
"""The time of `plog` records."""


def plog(text: str, *, level: str = "ERROR", module: str = "HCCL", pid: int = 77, thread: str = "[78]") -> str:
    """A record of a plog file."""
    return f"[{level}] {module}({pid},python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] {thread}{text}\n"


def info(text: str, *, pid: int = 77) -> str:
    """A record of the run log."""
    return plog(text, level="INFO", pid=pid)


def events_of(text: str | bytes, name: str = "plog-77_20250615150640500.log") -> tuple[Event, ...]:
    """The events of a log with this content."""
    data = text.encode() if isinstance(text, str) else text
    return read_log(Log(name, PurePath("/jobs/worker-0/debug/plog", name), 5.0, iter([data] if data else []))).events


def facts_of(text: str | bytes, name: str = "plog-77_20250615150640500.log") -> list[Fact]:
    """The facts of a log with this content."""
    return [event.fact for event in events_of(text, name)]
