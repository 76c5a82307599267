"""What a cause is, and how ranks and collectives are named in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hccl_kit.base.wording import listed
from hccl_kit.diagnosis.facts import Place
from hccl_kit.diagnosis.verdict.diagnosis import Blame, Certainty
from hccl_kit.diagnosis.verdict.recorded.job import Entry


class Cause(NamedTuple):
    """What went wrong first. `ranks`: those that it may be, the most suspect first; empty: a server as a whole."""

    ranks: tuple[int, ...]
    kind: str
    certainty: Certainty
    why: str
    fix: str
    time: float | None = None
    place: Place | None = None
    server: str | None = None
    rule: str | None = None
    blame: Blame | None = None


def order(time: float | None) -> float:
    """A key to sort by; what has no time comes last."""
    return float("inf") if time is None else time


def named(entry: Entry) -> str:
    """A collective with what its ranks give: all_reduce of 4096 bytes, all_reduce of Float [1024]."""
    if entry.shape:
        return f"{entry.operator} of {entry.shape}"
    return entry.operator if entry.size is None else f"{entry.operator} of {entry.size} bytes"


def in_step(step: int | None) -> str:
    """The step at the end of a sentence; torch's dumps alone do not have it."""
    return "" if step is None else f", in step {step}"


def rank_list(numbers: Sequence[int]) -> str:
    """Ranks in a sentence: rank 3, ranks 1, 2, ranks 4 to 7."""
    if len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"ranks {numbers[0]} to {numbers[-1]}"
    return f"{'rank' if len(numbers) == 1 else 'ranks'} {listed(numbers)}"
