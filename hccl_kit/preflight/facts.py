"""What is to be alike on all servers of a job, as this one has it: versions, and the TLS switch of its cards."""

from __future__ import annotations

from collections.abc import Mapping

from hccl_kit.preflight.node import Node

TLS = "TLS"
"""The fact whether the cards ask for TLS; all others are versions (HK616, HK617)."""


def facts(_node: Node) -> Mapping[str, str]:
    """Name to value, such as "CANN" to "8.0.RC2" and TLS to "off"; what is not known here is left out."""
    return {}
