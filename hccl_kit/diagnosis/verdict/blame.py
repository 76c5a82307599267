"""What is at fault where a rank failed by itself, as far as a restart depends on it."""

from __future__ import annotations

from hccl_kit.diagnosis.facts import Fact, Fault
from hccl_kit.diagnosis.verdict.diagnosis import Blame

OF_PROGRAM = frozenset(
    (
        *("AssertionError", "AttributeError", "IndentationError", "IndexError", "KeyError", "NameError"),
        *("NotImplementedError", "RecursionError", "SyntaxError", "TabError", "TypeError", "UnboundLocalError"),
        *("ValueError", "ZeroDivisionError"),
    )
)
"""Exceptions that a program meets again. Others may be of a host, a card, a network or another rank."""


def of_exception(name: str) -> Blame | None:
    """What is at fault for an exception of a program; None if that is not clear."""
    return "program" if name in OF_PROGRAM else None


def of_fact(fact: Fact) -> Blame | None:
    """What is at fault for the first failure; None if that is not clear."""
    if not isinstance(fact, Fault):
        return None
    if fact.of_card:
        return "card"
    return of_exception(fact.kind.partition(":")[0]) if fact.module == "PYTHON" else None
