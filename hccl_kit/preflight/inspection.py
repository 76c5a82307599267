"""Hold a node to every rule HK6, in their order, and tell what could not be looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.preflight.node import CannotTellError, Fault, Node, NodeRule
from hccl_kit.preflight.rules import NODE_RULES
from hccl_kit.table.finding import Severity

FIRST_OF_DEVICES = "HK620"
"""From this rule on they are about the cards of the table's server."""
NO_SERVER = "this machine is no server of the table"
MAX_FAULTS = 100
"""Of one rule; who has more cards than that at fault needs no longer list."""


class Found(NamedTuple):
    """A fault with its rule's id, severity and HCCL's code; `device` is the physical id of a card, None for none."""

    rule: str
    severity: Severity
    message: str
    hint: str | None = None
    hccl_error: str | None = None
    device: int | None = None


class Report(NamedTuple):
    """What was found on a node. `checked` are the ids of the rules held to, `skipped` the others, each with why."""

    server: str | None
    findings: tuple[Found, ...]
    checked: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def ok(self) -> bool:
        """No error; warnings and notes may be there."""
        return all(found.severity != "error" for found in self.findings)


def inspect(node: Node, rules: Iterable[NodeRule] = NODE_RULES) -> Report:
    """Look at everything. Total: a check that stops with a KitError is a finding of its rule."""
    findings: list[Found] = []
    checked: list[str] = []
    skipped: list[tuple[str, str]] = []
    for rule in rules:
        try:
            if node.server is None and rule.rule.id >= FIRST_OF_DEVICES:
                raise CannotTellError(NO_SERVER)
            findings += [as_found(rule, fault) for fault in _faults(rule, node)]
            checked.append(rule.rule.id)
        except CannotTellError as reason:
            skipped.append((rule.rule.id, str(reason)))
    return Report(node.server.id if node.server else None, tuple(findings), tuple(checked), tuple(skipped))


def as_found(rule: NodeRule, fault: Fault) -> Found:
    """A fault with what its rule says of it."""
    row = rule.rule
    code = row.hccl_error if row.severity == "error" else None
    return Found(row.id, row.severity, fault.message, fault.hint, code, fault.device)


def _faults(rule: NodeRule, node: Node) -> Iterator[Fault]:
    """At most MAX_FAULTS; what stops a check is told after what it had found."""
    try:
        for number, fault in enumerate(rule.check(node)):
            if number == MAX_FAULTS:
                yield Fault(f"{MAX_FAULTS} of these are told; there are more")
                return
            yield fault
    except KitError as error:
        yield Fault(error.message, error.hint)
    except OSError as error:
        yield Fault(f"{error.filename or 'this machine'}: {error.strerror}")
