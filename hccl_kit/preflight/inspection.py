"""Run every rule HK6 on a node, in their order, and report which could not be checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
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
