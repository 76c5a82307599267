"""The variables that ranks really had: from a running process, a file of them, or HCCL's logs."""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.bounded_file import read_bounded, read_start
from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.facts import Evidence, Process, Setting
from hccl_kit.diagnosis.logs.archives import is_packed
from hccl_kit.diagnosis.logs.reading import read
from hccl_kit.discovery import installation
from hccl_kit.launch.hccl_variables import BASE_PORT, CARD_RANGE, HOST_RANGE, IF_IP
from hccl_kit.launch.job_ports import HIGHEST
from hccl_kit.table.document import shown

MAX_ENVIRON = 4 << 20
"""Bytes; Linux allows 2 MiB for arguments and environment by default."""
_START = 64 << 10
_PID = re.compile(r"[1-9][0-9]{0,9}")
_RECORD = re.compile(rb"^\[(?:ERROR|INFO|EVENT|WARNING|DEBUG|TRACE)\] ?[A-Z]", re.MULTILINE)
_EXPORT = re.compile(r"(?:export|declare -x) (?=[A-Za-z_])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Had(NamedTuple):
    """The variables of one rank, or of all that share a file. `is_complete`: what is not there was not set.

    `cann` is the version of its CANN; None if it is not known.
    """

    source: str
    values: Mapping[str, str]
    is_complete: bool
    cann: str | None = None


def read_settings(source: str) -> list[Had]:
    """The variables of a process (PID), of a file, or of each process whose logs print some.

    Raises KitError if there are none.
    """
    path = Path(source)
    if _PID.fullmatch(source) and not path.exists():
        return [_of_process(source)]
    if path.is_dir():
        return _of_logs(source, path)
    start = read_start(path, _START)
    if is_packed(start) or (b"\0" not in start and _RECORD.search(start)):
        return _of_logs(source, path)
    data = read_bounded(path, MAX_ENVIRON)
    values = dict(_entries(data) if b"\0" in data else _lines(data.decode("utf-8", "replace").splitlines()))
    if not values:
        raise KitError(
            "diagnosis.no-variables",
            "{source} has no variables",
            fix="give the output of `env`, /proc/PID/environ, the PID of a rank, or a plog",
            source=shown(source),
        )
    return [Had(source, values, is_complete=True)]


def _of_process(pid: str) -> Had:
    try:
        data = read_bounded(Path(f"/proc/{pid}/environ"), MAX_ENVIRON)
    except KitError as error:
        raise KitError(
            "diagnosis.of-process",
            "process {pid}: {reason}",
            fix="run as its user, while it runs",
            pid=pid,
            reason=error.message,
        ) from None
    values = dict(_entries(data))
    if not values:
        raise KitError(
            "diagnosis.no-process", "process {pid} has no variables: it has ended, or is a kernel thread", pid=pid
        )
    installed = installation.cann(Path("/"), values)
    return Had(f"process {pid}", values, is_complete=True, cann=installed.version if installed else None)


def _of_logs(source: str, path: Path) -> list[Had]:
    settings = of_evidence(read([path]))
    if not settings:
        raise KitError(
            "diagnosis.no-hccl-variable",
            "{source} prints no variable of HCCL",
            fix="they are in run/plog, at the start of a process",
            source=shown(source),
        )
    return settings


def of_evidence(evidence: Evidence) -> list[Had]:
    """What the processes of logs print of their variables."""
    values: dict[Process, dict[str, str]] = {}
    files: dict[Process, str] = {}
    for event in evidence.events:
        if isinstance(event.fact, Setting) and (value := _as_set(*event.fact)) is not None:
            values.setdefault(event.process, {}).setdefault(event.fact.name, value)
            files.setdefault(event.process, event.place.file)
    return [Had(files[process], settings, is_complete=False) for process, settings in values.items()]


def _as_set(name: str, value: str) -> str | None:
    """What HCCL prints of a variable, as a user would set it; None if it was not set.

    It prints EmptyString, an invalid port or 0.0.0.0 for a variable without a value, and ranges as [50000, 50015].
    """
    if value in ("", "EmptyString"):
        return None
    if name == IF_IP:
        return value if _is_own_address(value) else None
    if name == BASE_PORT:
        return value if len(value) <= 5 and value.isdecimal() and int(value) <= HIGHEST else None
    if name in (HOST_RANGE, CARD_RANGE):
        return re.sub(r"^([0-9]{1,5}), ?([0-9]{1,5})$", r"\1-\2", value)
    return value


def _is_own_address(text: str) -> bool:
    try:
        return not ipaddress.ip_address(text.partition("%")[0]).is_unspecified
    except ValueError:
        return False


def _entries(data: bytes) -> Iterator[tuple[str, str]]:
    """The variables of an environment as the kernel has it."""
    for entry in data.split(b"\0"):
        name, equals, value = entry.decode("utf-8", "replace").partition("=")
        if equals and _NAME.fullmatch(name):
            yield name, value


def _lines(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The variables that `env`, `export -p` or `hccl-kit env --format sh` print; other lines are left out."""
    for line in lines:
        prefix = _EXPORT.match(line)
        name, equals, value = line[prefix.end() if prefix else 0 :].partition("=")
        if equals and _NAME.fullmatch(name):
            yield name, _unquoted(value) if prefix else value


def _unquoted(text: str) -> str:
    try:
        parts: Sequence[str] = shlex.split(text)
    except ValueError:
        return text
    return parts[0] if parts else ""
