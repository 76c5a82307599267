"""The table of rules HK6: the host's, then the cards'. An id is never used twice."""

from __future__ import annotations

from hccl_kit.preflight.device_rules import DEVICE_RULES
from hccl_kit.preflight.host_rules import HOST_RULES
from hccl_kit.preflight.node import NodeRule

NODE_RULES: tuple[NodeRule, ...] = (*HOST_RULES, *DEVICE_RULES)
