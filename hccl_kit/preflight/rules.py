"""The table of rules HK6. An id is never used twice."""

from __future__ import annotations

from hccl_kit.preflight.node import NodeRule

NODE_RULES: tuple[NodeRule, ...] = ()
