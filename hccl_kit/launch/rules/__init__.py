"""Rules HK5: what a launcher requires of a plan. Checked before anything is written.

Each rule is defined in the module of its check, one for each family of launchers. An id is never reused. Retired: HK533
(a table that is too large for `kubectl apply`; it is compressed now).
"""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.check.rule import Rule, in_order, run
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.launch.rules import kubernetes, servers
from hccl_kit.table.finding import Finding
from hccl_kit.table.products import ANY_PRODUCT

PLAN_RULES: tuple[Rule[[LaunchPlan, TableFile]], ...] = in_order(servers.RULES, kubernetes.RULES)


def check_plan(plan: LaunchPlan, table: TableFile, launcher: str) -> Iterator[Finding]:
    """What keeps the launcher from starting the plan, or is worth a warning, in the order of the rules."""
    return run((rule for rule in PLAN_RULES if launcher in rule.kinds), ANY_PRODUCT, plan, table)
