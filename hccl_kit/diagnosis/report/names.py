"""How ranks and clocks are called in every form of the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted, listed, spans
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, Suspect
from hccl_kit.diagnosis.verdict.names import rank_name, with_noun

MIN_OFFSET = 1.0
"""Seconds; a clock that differs by less counts as right: most estimates are not more exact."""
MAX_NAMED = 4
"""Ranks that are named with server and card; of more, only the numbers are listed."""


def subject(diagnosis: Diagnosis, first: Suspect) -> str:
    """What the first fault is at: a rank, or `host 10.0.0.3 (ranks 8-15)`, or all ranks."""
    if diagnosis.where == "all" and len(diagnosis.suspects) > 1:
        return Message("diagnosis.all-ranks", "all {number} ranks", number=len(diagnosis.suspects))
    if diagnosis.where == "host":
        ranks = short_names(suspect for suspect in diagnosis.suspects if suspect.rank is not None)
        if not ranks:
            return Message("diagnosis.host", "host {name}", name=first.server)
        return Message("diagnosis.host-ranks", "host {name} (ranks {ranks})", name=first.server, ranks=ranks)
    return rank_name(first)


def short_name(suspect: Suspect) -> str:
    """`27`, or where the rank is if its number is not known."""
    return str(suspect.rank) if suspect.rank is not None else rank_name(suspect)


def short_names(suspects: Iterable[Suspect]) -> str:
    """`0-7,9`."""
    suspects = list(dict.fromkeys(suspects))
    ranks = {suspect.rank for suspect in suspects if suspect.rank is not None}
    return ",".join([*spans(ranks), *(short_name(suspect) for suspect in suspects if suspect.rank is None)])


def full_names(suspects: Sequence[Suspect]) -> str:
    """A few ranks with their places, or many as numbers."""
    if len(suspects) <= MAX_NAMED or any(suspect.rank is None for suspect in suspects):
        return listed(map(rank_name, suspects))
    return with_noun(listed(spans(suspect.rank for suspect in suspects if suspect.rank is not None)), is_one=False)


def clock_sentences(offsets: Mapping[str, float]) -> list[str]:
    """`10.0.0.3 is 41 s behind`, for the clocks that differ."""
    return [
        Message("diagnosis.ahead", "{server} is {time} ahead", server=server, time=_duration(offset))
        if offset > 0
        else Message("diagnosis.behind", "{server} is {time} behind", server=server, time=_duration(-offset))
        for server, offset in offsets.items()
        if MIN_OFFSET <= abs(offset) < math.inf
    ]


def link_count(diagnosis: Diagnosis) -> str:
    """What the clocks were estimated from."""
    if not diagnosis.links:
        return Message("diagnosis.estimated", "estimated")
    return Message("diagnosis.estimated-from", "estimated from {links}", links=counted(diagnosis.links, "link"))


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"
