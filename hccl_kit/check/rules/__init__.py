"""The rules of tables: HK0 text, HK1 structure and kind, HK2 identity, HK3 network, HK4 topology.

Each rule is defined in the module of its check. An id is never reused. Retired: HK106 (a kind that a release recognised
but did not check).
"""

from __future__ import annotations

from hccl_kit.check.rule import in_order
from hccl_kit.check.rules import (
    addresses,
    backup,
    counts,
    groups,
    identity,
    keys,
    levels,
    networks,
    nics,
    nodes,
    rank_addresses,
    ranks,
    reading,
    sdids,
    super_pods,
    topology,
)
from hccl_kit.check.rules.reading import TableRule

RULES: tuple[TableRule, ...] = in_order(
    addresses.RULES,
    backup.RULES,
    counts.RULES,
    groups.RULES,
    identity.RULES,
    keys.RULES,
    levels.RULES,
    networks.RULES,
    nics.RULES,
    nodes.RULES,
    rank_addresses.RULES,
    ranks.RULES,
    reading.RULES,
    sdids.RULES,
    super_pods.RULES,
    topology.RULES,
)

RULE_BY_ID = {rule.id: rule for rule in RULES}
