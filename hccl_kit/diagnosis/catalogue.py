"""Every rule there is: of tables (HK0 to HK4), of plans and ways out (HK5), of a node (HK6)."""

from __future__ import annotations

from hccl_kit.check.rules import RULES
from hccl_kit.launch.rules import PLAN_RULES
from hccl_kit.preflight.cluster_rules import ACROSS_RULES
from hccl_kit.preflight.rules import NODE_RULES
from hccl_kit.table.finding import Rule

CATALOGUE: tuple[Rule, ...] = (
    *RULES,
    *(row.rule for row in PLAN_RULES),
    *sorted([*(row.rule for row in NODE_RULES), *(row.rule for row in ACROSS_RULES)], key=lambda rule: rule.id),
)
