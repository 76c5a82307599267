"""The rules HK6 of a server: its host and its cards. Each rule is defined in the module of its check."""

from __future__ import annotations

from hccl_kit.check.rule import Rule, in_order
from hccl_kit.preflight.node import Node
from hccl_kit.preflight.rules import (
    card_addresses,
    card_health,
    card_links,
    containers,
    driver_access,
    host_system,
    identity,
    limits,
    ports,
    table_file,
    variable_use,
    variables,
    versions,
)

NODE_RULES: tuple[Rule[[Node]], ...] = in_order(
    card_addresses.RULES,
    card_health.RULES,
    card_links.RULES,
    containers.RULES,
    driver_access.RULES,
    host_system.RULES,
    identity.RULES,
    limits.RULES,
    ports.RULES,
    table_file.RULES,
    variable_use.RULES,
    variables.RULES,
    versions.RULES,
)
