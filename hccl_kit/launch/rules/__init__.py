"""Rules HK5: what a way of starting asks of a plan. Checked before anything is written.

A rule is a generator over the plan and the table's file; its docstring is its page, under the headings of every rule.
The rows stand beside the rules, in a module for each family of ways; an id is never used twice.
"""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.rules import kubernetes, mpi, slurm
from hccl_kit.launch.rules.plan_rule import Fault, PlanRule
from hccl_kit.table.finding import Rule

PLAN_RULES: tuple[PlanRule, ...] = (*mpi.ROWS, *slurm.ROWS, *kubernetes.ROWS)


def judge(plan: LaunchPlan, table: TableFile, way: str) -> Iterator[tuple[Rule, Fault]]:
    """What the rules for `way` have against the plan, in the order of the rules."""
    for rule, check in PLAN_RULES:
        if way in rule.formats:
            for fault in check(plan, table):
                yield rule, fault
