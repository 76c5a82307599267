"""What a rule HK5 is given, and what it says: a plan and the table's file, for one way of starting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.table.finding import Rule, Severity


class Fault(NamedTuple):
    """What is wrong with a plan, what would be accepted, and what to do."""

    message: str
    hint: str | None = None


PlanCheck = Callable[[LaunchPlan, TableFile], Iterator[Fault]]


class PlanRule(NamedTuple):
    """A row of the table: `rule.formats` are the ways out that it is for."""

    rule: Rule
    check: PlanCheck


def row(  # a row reads best on one line
    id: str,  # noqa: A002 - the word of Rule
    title: str,
    check: PlanCheck,
    *,
    ways: tuple[str, ...],
    hccl_error: str | None = None,
    severity: Severity = "error",
) -> PlanRule:
    """A row; the page of the rule is the docstring of its check."""
    return PlanRule(Rule(id, title, hccl_error, severity=severity, formats=ways, doc=check.__doc__ or ""), check)
