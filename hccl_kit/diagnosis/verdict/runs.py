"""Several runs that left their logs in one folder: which processes belong to earlier ones than the last that failed.

Processes that share a communicator belong to one run. Of two runs on one worker, the earlier one ended before the later
one began, by the same clock; runs that overlap may be one job with several communicators, unless they use one card.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hccl_kit.diagnosis.logs.facts import Event, Joined, Process

START = 600.0
"""Seconds in which the processes of a job start."""


class Span(NamedTuple):
    """When a process, or the processes of a run on one worker, wrote their logs; and whether it, or the run, failed."""

    first: float
    last: float
    has_error: bool


def other_runs(by_process: Mapping[Process, Sequence[Event]], groups: Mapping[Process, Iterable[str]]) -> set[Process]:
    """The processes of runs that had ended before the last one that failed, or that came after it without an error."""
    spans = {process: span for process, events in by_process.items() if (span := _span(events))}
    runs = _runs(groups)
    by_worker: dict[str, list[tuple[Span, int]]] = defaultdict(list)
    for number, run in enumerate(runs):
        for worker, span in _by_worker(run, spans).items():
            by_worker[worker].append((span, number))
    gone = _other_on_a_card(by_process, runs, spans)
    for on_worker in by_worker.values():
        failed = max((span for span, _ in on_worker if span.has_error), default=None)
        if failed is not None:
            gone.update(number for span, number in on_worker if _is_apart(span, failed))
    processes = {process for number in gone for process in runs[number]}
    return processes | _before(spans, [run for number, run in enumerate(runs) if number not in gone])


def _is_apart(span: Span, failed: Span) -> bool:
    return span.last < failed.first or (span.first > failed.last and not span.has_error)


def _other_on_a_card(
    by_process: Mapping[Process, Sequence[Event]], runs: Sequence[Sequence[Process]], spans: Mapping[Process, Span]
) -> set[int]:
    """Runs without an error, of which a card is also in a run that failed: a job has one process on a card."""
    has_error = [any(spans[process].has_error for process in run if process in spans) for run in runs]
    cards = [{card for process in run for card in _cards(by_process[process])} for run in runs]
    failed = {card for number, own in enumerate(cards) if has_error[number] for card in own}
    return {number for number, own in enumerate(cards) if not has_error[number] and own & failed}


def _cards(events: Iterable[Event]) -> Iterator[tuple[str, int]]:
    for event in events:
        fact = event.fact
        if isinstance(fact, Joined) and fact.server is not None and fact.physical is not None:
            yield fact.server, fact.physical


def _runs(groups: Mapping[Process, Iterable[str]]) -> list[list[Process]]:
    """The processes that are joined by communicators."""
    parents: dict[str, str] = {}

    def root(group: str) -> str:
        while parents.setdefault(group, group) != group:
            parents[group] = group = parents[parents[group]]
        return group

    for names in groups.values():
        first, *others = [*names] or [""]
        for other in others:
            parents[root(other)] = root(first)
    runs: dict[str, list[Process]] = defaultdict(list)
    for process, names in groups.items():
        for name in names:
            runs[root(name)].append(process)
            break
    return list(runs.values())


def _span(events: Sequence[Event]) -> Span | None:
    times = [event.time for event in events if event.time is not None]
    return Span(min(times), max(times), any(event.is_error for event in events)) if times else None


def _by_worker(run: Iterable[Process], spans: Mapping[Process, Span]) -> dict[str, Span]:
    found: dict[str, list[Span]] = defaultdict(list)
    for process in run:
        if process in spans:
            found[process.worker].append(spans[process])
    has_error = any(span.has_error for own in found.values() for span in own)  # perhaps on one worker only
    return {
        worker: Span(min(span.first for span in own), max(span.last for span in own), has_error)
        for worker, own in found.items()
    }


def _before(spans: Mapping[Process, Span], runs: Iterable[Sequence[Process]]) -> set[Process]:
    """Processes without a communicator that ended long before any run of their worker began."""
    named = {process for run in runs for process in run}
    begin: dict[str, float] = {}
    for process in named & spans.keys():
        first = spans[process].first
        begin[process.worker] = min(first, begin.get(process.worker, first))
    return {
        process
        for process, span in spans.items()
        if process not in named and span.last < begin.get(process.worker, 0.0) - START
    }
