"""All rules: of tables (HK0 to HK4), of launch plans (HK5), of a server and a cluster (HK6), of jobs (HK7)."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.check.rule import Rule
from hccl_kit.check.rules import RULES
from hccl_kit.diagnosis.first_faults import FIRST_FAULTS
from hccl_kit.launch.rules import PLAN_RULES
from hccl_kit.preflight.card_rules import CARD_RULES
from hccl_kit.preflight.cluster_rules import CLUSTER_RULES
from hccl_kit.preflight.rules import NODE_RULES
from hccl_kit.preflight.site_rules import SITE_RULE

CATALOGUE: tuple[Rule[...], ...] = tuple(
    sorted(
        (*RULES, *PLAN_RULES, *NODE_RULES, *CLUSTER_RULES, *CARD_RULES, SITE_RULE, *FIRST_FAULTS),
        key=lambda rule: rule.id,
    )
)


def rule_ids_of(variable: str) -> Iterator[str]:
    """The ids of the rules with this name of HCCL; "... of server Id X" matches every server."""
    for rule in CATALOGUE:
        for name in rule.variables:
            if variable == name or (name.endswith(" X") and variable.startswith(name[:-1])):
                yield rule.id
