"""What a diagnosis names."""

from __future__ import annotations

from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, FirstFault


def fault_of(diagnosis: Diagnosis) -> FirstFault:
    """The first fault, which must be known."""
    assert diagnosis.first_fault is not None, diagnosis.reason
    return diagnosis.first_fault


def named(diagnosis: Diagnosis) -> int | None:
    """The rank that is named; None if none is."""
    return diagnosis.first_fault.suspect.rank if diagnosis.first_fault else None


def told(diagnosis: Diagnosis) -> tuple[int | None, str]:
    """The rank of the first fault, and what happened to it."""
    return fault_of(diagnosis).suspect.rank, fault_of(diagnosis).kind
