"""Run every rule HK6 on a node; the answer of a server is this report, with facts that must be equal on all servers.

It travels as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.schemas import mismatch
from hccl_kit.check.rule import Rule, run
from hccl_kit.preflight.node import NO_SERVER, CannotTellError, Node
from hccl_kit.preflight.rules import NODE_RULES
from hccl_kit.table.finding import Finding, finding

MAX_FINDINGS = 100
"""Maximum findings per rule."""


class Report(NamedTuple):
    """What was found on a node. `checked` are the ids of the rules that ran, `skipped` the others, each with why."""

    server: str | None
    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is no error; there may be warnings and notes."""
        return all(finding.severity != "error" for finding in self.findings)


def inspect(node: Node, rules: Iterable[Rule[[Node]]] = NODE_RULES) -> Report:
    """Check everything. Total: a check that stops with a KitError is a finding of its rule."""
    findings: list[Finding] = []
    checked: list[str] = []
    skipped: list[tuple[str, str]] = []
    for rule in rules:
        try:
            if node.server is None and rule.needs_server:
                raise CannotTellError(NO_SERVER)
            findings += _findings(rule, node)
            checked.append(rule.id)
        except CannotTellError as error:
            skipped.append((rule.id, error.message))
    return Report(node.server.id if node.server else None, tuple(findings), tuple(checked), tuple(skipped))


def _findings(rule: Rule[[Node]], node: Node) -> Iterator[Finding]:
    """At most MAX_FINDINGS; an error that stops the check comes after what it had found."""
    try:
        for number, made in enumerate(run([rule], node.product.name, node)):
            if number == MAX_FINDINGS:
                yield rule.complete(
                    finding("preflight.many-findings", "only the first {most} of these are listed", most=MAX_FINDINGS)
                )
                return
            yield made
    except CannotTellError:
        raise
    except KitError as error:
        yield rule.complete(Finding(error.message, error.hint))
    except OSError as error:
        place = error.filename or Message("preflight.this-machine", "this machine")
        yield rule.complete(finding("preflight.not-read", "{place}: {reason}", place=place, reason=error.strerror))


TABLE = "table"
"""The fact that holds the SHA-256 of the table's file on that server."""
ABSENT = "absent"
TLS = "TLS"
"""The fact whether the cards use TLS (HK617)."""
HOST = "host"
"""The fact which host this is, also in a container (HK662); it is the only one that must differ."""
FRAMEWORK = ("MindSpore", "Python")
"""Versions that HCCL does not compare (HK660); all others it does (HK616)."""
_FIELDS = ("rule", "name", "severity", "message", "hint", "hccl_error", "device")
"""The fields of a finding that travel; a finding on a server has no place in a text."""


class Answer(NamedTuple):
    """What is known about a server of the table.

    `server` is its id in the table, `machine` its host name. `facts` and `variables` must be equal on all servers.
    `clock` is in seconds since 1970. `error`: why the server could not be checked; then everything else is empty.
    """

    server: str
    machine: str = ""
    report: Report = Report(None, (), ())
    facts: Mapping[str, str] = {}
    variables: Mapping[str, str] = {}
    clock: float = 0.0
    error: str | None = None


def to_value(answer: Answer) -> dict[str, Any]:
    """The answer as a JSON value."""
    report = answer.report
    return {
        "server": answer.server,
        "machine": answer.machine,
        "ok": answer.error is None and report.ok,
        "error": answer.error,
        "findings": [*map(finding_to_value, report.findings)],
        "checked": list(report.checked),
        "skipped": [{"rule": rule, "reason": reason} for rule, reason in report.skipped],
        "facts": dict(answer.facts),
        "variables": dict(answer.variables),
        "clock": answer.clock,
    }


def finding_to_value(finding: Finding) -> dict[str, Any]:
    """A finding on a server as a JSON value."""
    return {field: getattr(finding, field) for field in _FIELDS}


def assert_matches(value: Any, schema: str, part: str) -> None:
    """Raise KitError if what another process or server sent is not that part of a schema."""
    if wrong := mismatch(value, schema, part):
        raise KitError(
            "preflight.answer-of-process",
            "the answer does not match the schema: {place}: {reason}",
            fix="under mpirun, install one version of hccl-kit on all servers",
            place=wrong.place,
            reason=wrong.reason,
        )


def from_value(value: Any) -> Answer:
    """The answer in a value that was sent here. Raises KitError if it is none. Law: `from_value(to_value(a)) == a`."""
    assert_matches(value, "preflight_report", "server")
    findings = tuple(Finding(**{field: row[field] for field in _FIELDS if field in row}) for row in value["findings"])
    skipped = tuple((row["rule"], row["reason"]) for row in value["skipped"])
    server = value["server"]
    return Answer(
        server=server,
        machine=value["machine"],
        report=Report(server or None, findings, tuple(value["checked"]), skipped),
        facts=dict(value["facts"]),
        variables=dict(value["variables"]),
        clock=float(value["clock"]),
        error=value["error"],
    )
