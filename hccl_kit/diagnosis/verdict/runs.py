"""Several runs that left their logs in one folder: which processes belong to others than the run that failed last.

Processes that share a communicator belong to one run. Of two runs on one worker, the earlier one ended before the later
one began, by the same clock. A run in which nothing failed is another one: what failed waits for no rank of it. So is
one of another day. What is left may still be of more than one job: then no verdict is certain. Those of one job may be
silent for hours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import PurePath
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted, joined, listed
from hccl_kit.diagnosis.facts import Event, Evidence, Fault, Joined, Process
from hccl_kit.diagnosis.moments import span_text
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis
from hccl_kit.diagnosis.verdict.work import Work

START = 600.0
"""Seconds in which the processes of a job start."""
DAY = 86400.0
"""Seconds without a line of any process after which other processes are those of another run, whatever the clocks."""


Span = tuple[float, float]
"""The first and the last time of something, as in an Event."""


class Written(NamedTuple):
    """When a process, or the processes of a run on one worker, wrote their logs; and whether it, or the run, failed.

    An error after which a process joined a communicator or trained is no failure.
    """

    first: float
    last: float
    has_error: bool


def other_runs(
    by_process: Mapping[Process, Sequence[Event]], groups: Mapping[Process, Iterable[str]], launcher: Iterable[Event]
) -> set[Process]:
    """The processes of runs that had ended before the last one that failed, or in which nothing failed.

    `launcher` has what launchers report.
    """
    spans = {process: span for process, events in by_process.items() if (span := _span(events))}
    runs = _runs(groups)
    reported = _reported(by_process, runs, spans, launcher)
    by_worker: dict[str, list[tuple[Written, int]]] = defaultdict(list)
    for number, run in enumerate(runs):
        for worker, span in _by_worker(run, spans, has_error=number in reported).items():
            by_worker[worker].append((span, number))
    failing = [
        number in reported or any(process in spans and spans[process].has_error for process in run)
        for number, run in enumerate(runs)
    ]
    if not any(failing):  # ranks were ended: what others print of their end counts
        ended = {process.worker for process, events in by_process.items() if any(map(_is_end, events))}
        failing = [any(process.worker in ended for process in run) for run in runs]
    gone = {number for number, fails in enumerate(failing) if not fails and any(failing)}
    for on_worker in by_worker.values():
        failed = max((span for span, _ in on_worker if span.has_error), default=None)
        if failed is not None:
            gone.update(number for span, number in on_worker if _is_apart(span, failed))
    kept = [run for number, run in enumerate(runs) if number not in gone]
    left_out = {process for number in gone for process in runs[number]} | _before(spans, kept) | _of_other_days(spans)
    in_use = {process.worker for run in kept for process in run if process not in left_out}
    elsewhere = {process.worker for process in left_out} - in_use
    return left_out | {process for process in by_process if process.worker in elsewhere}


def _is_end(event: Event) -> bool:
    return isinstance(event.fact, Fault)


def _is_apart(span: Written, failed: Written) -> bool:
    return span.last < failed.first or (span.first > failed.last and not span.has_error)


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


def _span(events: Sequence[Event]) -> Written | None:
    times = [event.time for event in events if event.time is not None]
    if not times:
        return None
    return Written(min(times), max(times), has_failure(events))


def has_failure(events: Sequence[Event]) -> bool:
    """Whether there is an error after which no process joined a communicator or trained."""
    work = Work.of(events)
    return any(event.is_error and not work.is_after(event) for event in events)


class Part(NamedTuple):
    """What a run wrote on one worker, and one of its files."""

    worker: str
    span: Written
    number: int
    file: PurePath


def _reported(
    by_process: Mapping[Process, Sequence[Event]],
    runs: Sequence[Sequence[Process]],
    spans: Mapping[Process, Written],
    launcher: Iterable[Event],
) -> set[int]:
    """The runs whose failure a launcher reports, or a rank on its screen."""
    in_runs = {process for run in runs for process in run}
    screens = (event for process in by_process.keys() - in_runs for event in by_process[process])
    errors = (event for event in (*screens, *launcher) if event.is_error)
    reports = {(event.process.worker, PurePath(event.place.file).parent): event for event in errors}
    files = {process.worker: PurePath(by_process[process][0].place.file) for process in spans}
    parts = [
        Part(worker, span, number, files[worker])
        for number, run in enumerate(runs)
        for worker, span in _by_worker(run, spans, has_error=False).items()
    ]
    return {number for event in reports.values() if (number := _run_of(event, parts)) is not None}


def _run_of(event: Event, parts: Iterable[Part]) -> int | None:
    """The run whose failure is reported: the last one that had begun.

    Of runs in several folders it is one in that of the report, or nearest to it; a report that lies above them is one
    on the last run only if all others had ended before.
    """
    folder = PurePath(event.place.file).parent
    begun = [
        (nearness, part.span, part.number)
        for part in parts
        if event.time is None or part.span.first <= event.time
        if (nearness := _shared(event.process.worker, part.worker)) or folder in part.file.parents
    ]
    if not begun:
        return None
    nearness, last, number = max(begun)
    is_apart = all(span.last < last.first for _, span, other in begun if other != number)
    return number if nearness or is_apart else None


def _shared(worker: str, other: str) -> int:
    """How many folders two workers have in common."""
    pairs = zip(worker.split("/"), other.split("/"), strict=False)
    return next((number for number, (one, same) in enumerate(pairs) if one != same), worker.count("/") + 1)


def _by_worker(run: Iterable[Process], spans: Mapping[Process, Written], *, has_error: bool) -> dict[str, Written]:
    spans_of: dict[str, list[Written]] = defaultdict(list)
    for process in run:
        if process in spans:
            spans_of[process.worker].append(spans[process])
    has_error |= any(span.has_error for spans in spans_of.values() for span in spans)  # perhaps on one worker only
    return {
        worker: Written(min(span.first for span in spans), max(span.last for span in spans), has_error)
        for worker, spans in spans_of.items()
    }


def _before(spans: Mapping[Process, Written], runs: Iterable[Sequence[Process]]) -> set[Process]:
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


def _of_other_days(spans: Mapping[Process, Written]) -> set[Process]:
    """Processes of runs that others, days apart, followed or preceded: the last run that failed is kept."""
    days: list[tuple[Written, list[Process]]] = []
    for process, span in sorted(spans.items(), key=lambda item: item[1]):
        if days and span.first - days[-1][0].last <= DAY:
            before, processes = days[-1]
            processes.append(process)
            days[-1] = Written(before.first, max(before.last, span.last), before.has_error or span.has_error), processes
        else:
            days.append((span, [process]))
    failed = max((span for span, _ in days if span.has_error), default=None)
    return {process for span, processes in days if failed is not None and span != failed for process in processes}


GAP = 7200.0
"""Seconds without a line of any process, after which other processes are those of another job."""
MAX_SHOWN = 4


def with_times(diagnosis: Diagnosis, evidence: Evidence, left_out: Set[Process] = frozenset()) -> Diagnosis:
    """The diagnosis with the time of the last line, and a note on other runs, whose processes are `left_out`.

    It is not certain if logs of more than one job may lie together, or if a run that was left out is a later one.
    """
    times = [time for file in evidence.files for time in (file.first, file.last) if time is not None]
    times += [event.time for event in evidence.events if event.time is not None]
    kept, others = _spans(evidence, left_out)
    later = [span for span in others if kept and span[0] > kept[-1][1]]
    diagnosis = diagnosis._replace(last=max(times, default=None))
    if left_out:
        note = Message(
            "diagnosis.left-out", "{processes} of other runs left out", processes=counted(len(left_out), "process")
        )
        if others:
            note = Message("diagnosis.left-out-of", "{note}, of {times}", note=note, times=_listed(others))
        diagnosis = diagnosis._replace(notes=(note, *diagnosis.notes))
    if len(kept) + len(later) < 2:
        return diagnosis
    doubt = Message(
        "diagnosis.several-jobs",
        "logs of more than one job seem to lie together ({times}): pass those of one job alone",
        times=_listed([*kept, *later]),
    )
    return diagnosis._replace(
        certainty="likely" if diagnosis.certainty == "certain" else diagnosis.certainty,
        contradicts=(*diagnosis.contradicts, doubt),
    )


def _listed(spans: list[Span]) -> str:
    times = [span_text(*span) for span in spans]
    return listed(times, MAX_SHOWN) if len(times) > MAX_SHOWN else joined(times)


def _spans(evidence: Evidence, left_out: Set[Process]) -> tuple[list[Span], list[Span]]:
    """When each job was written that was judged, by the clock of the server that has seen most; and each other one."""
    server = {
        event.process: event.fact.server
        for event in evidence.events
        if isinstance(event.fact, Joined) and event.fact.server is not None
    }
    of_worker: dict[str, set[str]] = defaultdict(set)
    for process, name in server.items():
        of_worker[process.worker].add(name)
    of_server: dict[str, list[Span]] = defaultdict(list)
    others: list[Span] = []
    for process, times in _times(evidence).items():
        if process in left_out:
            others += _parts(process, times)
        else:
            names = of_worker[process.worker]  # a process that failed early names no server
            name = server.get(process) or (min(names) if len(names) == 1 else process.worker)
            of_server[name] += _parts(process, times)
    merged = [_merged(spans, GAP) for spans in of_server.values()]
    merged.append(_merged([span for spans in of_server.values() for span in spans], DAY))
    return max(merged, key=len), _merged(others, GAP)


def _times(evidence: Evidence) -> dict[Process, list[float]]:
    """The known times of each process; of a log that names none, those of its errors."""
    times: dict[Process, list[float]] = defaultdict(list)
    for file in evidence.files:
        if _is_named(file.process):
            times[file.process] += [time for time in (file.first, file.last) if time is not None]
    for event in evidence.events:
        if event.time is not None and (_is_named(event.process) or event.is_error):
            times[event.process].append(event.time)
    return times


def _is_named(process: Process) -> bool:
    return process.pid is not None or process.rank is not None


def _parts(process: Process, times: list[float]) -> list[Span]:
    """The span of a process; several if it stands for all that a log names no process for."""
    if _is_named(process):
        return [(min(times), max(times))] if times else []
    return _merged([(time, time) for time in times], DAY)


def _merged(spans: list[Span], gap: float) -> list[Span]:
    """The spans of jobs: those of processes that are not so many seconds apart become one."""
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first - merged[-1][1] <= gap:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return merged
