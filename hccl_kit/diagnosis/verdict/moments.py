"""What happened to a rank, on a timeline."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.message import Message
from hccl_kit.diagnosis.facts import ProgramEnded
from hccl_kit.diagnosis.verdict.causes.cause import Case
from hccl_kit.diagnosis.verdict.diagnosis import Moment
from hccl_kit.diagnosis.verdict.endings import ended
from hccl_kit.diagnosis.verdict.job import Rank
from hccl_kit.diagnosis.verdict.phrases import phrase
from hccl_kit.diagnosis.verdict.record import Record
from hccl_kit.diagnosis.verdict.waits import WAITING

MAX_MOMENTS = 16
"""Moments of the logs of a rank."""


def moments(case: Case, rank: Rank) -> Iterator[Moment]:
    """What the logs of a rank say of failures and waits, and then the last that its record has."""
    telling = [
        event
        for event in rank.events
        if (event.is_error and not isinstance(event.fact, ProgramEnded)) or isinstance(event.fact, WAITING)
    ]
    telling_moments = [(event.time, phrase(event.fact), event.place) for event in telling[:MAX_MOMENTS]]
    if rank.record is not None:
        telling_moments += _last_moments(rank.record)
    clock = case.job.clock[rank.process]
    for time, words, place in telling_moments:
        corrected = case.clocks.corrected(clock, time)
        yield time if corrected is None else corrected, words, place


def _last_moments(record: Record) -> Iterator[Moment]:
    if last := record.last:
        collective = f"{last.operator} {last.sequence}"
        yield (
            last.event.time,
            Message("diagnosis.entered", "entered {collective}, step {step}", collective=collective, step=last.step),
            last.event.place,
        )
        if last.left is not None:
            yield last.left, Message("diagnosis.left", "left {collective}", collective=collective), last.event.place
    if record.alive:
        yield record.alive.time, Message("diagnosis.last-sign", "last sign of life"), record.alive.place
    if end := record.end:
        by_itself = Message("diagnosis.ended-with", "ended: {error}", error=end.how)
        yield end.event.time, by_itself if end.how else ended(end.signal, end.code), end.event.place
