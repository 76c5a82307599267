"""What one server answers: the report on it, and facts that are to be alike on all. It travels as JSON."""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.preflight.facts import facts
from hccl_kit.preflight.inspection import Report, inspect
from hccl_kit.preflight.node import Node
from hccl_kit.runtime.worker_env import RANK_TABLE_FILE
from hccl_kit.table.document import MAX_BYTES
from hccl_kit.table.finding import Finding

TABLE = "table"
"""The fact that is the SHA-256 of the table's file there."""
ABSENT = "absent"
_FAMILIES = ("HCCL_", "ASCEND_GLOBAL_", "ASCEND_RT_", RANK_TABLE_FILE)
_OWN_OF_EACH = ("HCCL_IF_IP", "HCCL_SOCKET_IFNAME", "HCCL_KIT_")
"""Beginnings of variables that differ by right; where they lead is judged on each server (HK610, HK611)."""
_FIELDS = ("rule", "name", "severity", "message", "hint", "hccl_error", "device")
"""The fields of a finding that travel; a server has no places in a text."""
MAX_VALUE = 1000
"""Characters of a variable that are compared."""


class Answer(NamedTuple):
    """What is known of a server of the table.

    `server` is its id there, `machine` the host name of who answered. `facts` and `variables` are to be alike on all
    servers. `clock` is in seconds since 1970. `error`: why nothing could be looked at; then all else is empty.
    """

    server: str
    machine: str = ""
    report: Report = Report(None, (), ())
    facts: Mapping[str, str] = {}
    variables: Mapping[str, str] = {}
    clock: float = 0.0
    error: str | None = None


def answer(node: Node, report: Report | None = None) -> Answer:
    """Look at this machine; `report` where that was done before."""
    report = report or inspect(node)
    return Answer(
        server=node.server.id if node.server else "",
        machine=socket.gethostname(),
        report=report,
        facts={**_table_there(node.path), **facts(node)},
        variables={
            name: value[:MAX_VALUE]
            for name, value in sorted(node.environ.items())
            if name.startswith(_FAMILIES) and not name.startswith(_OWN_OF_EACH)
        },
        clock=time.time(),
    )


def to_value(found: Answer) -> dict[str, Any]:
    """The answer as JSON knows it."""
    report = found.report
    return {
        "server": found.server,
        "machine": found.machine,
        "ok": found.error is None and report.ok,
        "error": found.error,
        "findings": [*map(finding_to_value, report.findings)],
        "checked": list(report.checked),
        "skipped": [{"rule": rule, "reason": reason} for rule, reason in report.skipped],
        "facts": dict(found.facts),
        "variables": dict(found.variables),
        "clock": found.clock,
    }


def finding_to_value(found: Finding) -> dict[str, Any]:
    """A finding of a server as JSON knows it."""
    return {field: getattr(found, field) for field in _FIELDS}


def from_value(value: Mapping[str, Any]) -> Answer:
    """Law: `from_value(to_value(a)) == a`. KeyError, TypeError or ValueError where it is no answer."""
    found = tuple(Finding(**{field: one[field] for field in _FIELDS if field in one}) for one in value["findings"])
    skipped = tuple((one["rule"], one["reason"]) for one in value["skipped"])
    server = value["server"]
    return Answer(
        server=server,
        machine=value["machine"],
        report=Report(server or None, found, tuple(value["checked"]), skipped),
        facts=dict(value["facts"]),
        variables=dict(value["variables"]),
        clock=float(value["clock"]),
        error=value["error"],
    )


def _table_there(path: Path | None) -> Mapping[str, str]:
    if path is None:
        return {}
    try:
        return {TABLE: hashlib.sha256(read_bounded(path, MAX_BYTES)).hexdigest()}
    except KitError:
        return {TABLE: ABSENT}
