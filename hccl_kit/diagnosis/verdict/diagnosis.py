"""The answer of `hccl-kit diagnose`, frozen: what every form of output is made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from hccl_kit.diagnosis.facts import Place

Certainty = Literal["certain", "likely", "cannot_tell"]


Blame = Literal["program", "card"]
"""What is at fault: the program, which would fail again, or a card with its port, which stays broken."""
Where = Literal["rank", "host", "pair", "group", "all"]
"""What a cause is at: one rank, a host with all its ranks, two ranks, several, or every rank of the job."""
Moment = tuple[float | None, str, Place]
"""A corrected time, a phrase and a place."""


class Suspect(NamedTuple):
    """A rank as far as the logs name it. `server` is an address, or the worker's folder where no log names one.

    `device` is the number of its card, as the process counts where no line names the physical one.
    """

    rank: int | None
    server: str | None
    device: int | None


class FirstFault(NamedTuple):
    """The first thing that went wrong. `kind` is a sentence without its subject; `time` as in an Event.

    `rule` is the id of `first_faults` that found it.
    """

    suspect: Suspect
    code: str | None
    time: float | None
    kind: str
    place: Place | None
    rule: str | None = None


class Wait(NamedTuple):
    """A rank of the cascade, the rank that it waited for, and the code that its log shows."""

    suspect: Suspect
    waits_for: Suspect | None
    code: str | None
    time: float | None
    place: Place | None


class RankLine(NamedTuple):
    """A rank of the job on the timeline: what it is, and its telling moments."""

    suspect: Suspect
    moments: tuple[Moment, ...]


class Diagnosis(NamedTuple):
    """Who broke the job.

    `first_fault` is None if it is not known; then `suspects` are all candidates, and `reason` says why, as in "cannot
    tell, because logs of 10.0.0.4 are missing". With several equal suspects the first one is `first_fault`, and
    `where` says what they are together. `supports` and `contradicts` are sentences. `clock_offsets` are the seconds by
    which the clock of a server is ahead of the others, negative if it is behind. `last` is the time of the last line
    that was read, of any rank. `blame` is None unless it is clear, and the same for all that may be the first.
    `files` are those of the run that was judged.
    """

    certainty: Certainty
    first_fault: FirstFault | None
    suspects: tuple[Suspect, ...]
    cascade: tuple[Wait, ...]
    silent: tuple[Suspect, ...]
    clock_offsets: Mapping[str, float]
    links: int
    evidence: tuple[Place, ...]
    reason: str
    fix: str
    supports: tuple[str, ...]
    contradicts: tuple[str, ...]
    ranks: tuple[RankLine, ...]
    notes: tuple[str, ...]
    last: float | None = None
    where: Where | None = None
    blame: Blame | None = None
    files: frozenset[str] = frozenset()


def where(suspects: Sequence[Suspect], everyone: Iterable[Suspect]) -> Where:
    """What all the suspects of a cause are together, in a job of these ranks."""
    if len(suspects) == 1:
        (only,) = suspects
        return "host" if only.rank is None and only.device is None and only.server is not None else "rank"
    everyone = set(everyone)
    if everyone <= set(suspects):
        return "all"
    servers = {suspect.server for suspect in suspects}
    if (
        len(servers) == 1
        and None not in servers
        and {suspect for suspect in everyone if suspect.server in servers} <= set(suspects)
    ):
        return "host"
    return "pair" if len(suspects) == 2 else "group"
