"""Logs of more than one job that lie together: when each was written, and what that means for a verdict.

On one server, the later job begins when all processes of the earlier one have ended. Those of one job may be silent for
hours, so of runs that follow each other at once only the assembly of a job knows; it has left one out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set
from itertools import pairwise

from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted, joined, listed
from hccl_kit.diagnosis.facts import Evidence, Joined, Process
from hccl_kit.diagnosis.moments import span_text
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, Span

GAP = 7200.0
"""Seconds without a line of any process, after which other processes are those of another job."""
DAY = 86400.0
"""As GAP, for processes of several servers, whose clocks may be wrong, and for errors in a log that names no process.
"""
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
    of_server: dict[str, list[Span]] = defaultdict(list)
    others: list[Span] = []
    for process, times in _times(evidence).items():
        if process in left_out:
            others += _parts(process, times)
        else:
            of_server[server.get(process, process.worker)] += _parts(process, times)
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
    times.sort()
    if not times or _is_named(process):
        return [(times[0], times[-1])] if times else []
    cuts = [0, *(n for n, (before, after) in enumerate(pairwise(times), 1) if after - before > DAY), len(times)]
    return [(times[start], times[end - 1]) for start, end in pairwise(cuts)]


def _merged(spans: list[Span], gap: float) -> list[Span]:
    """The spans of jobs: those of processes that are not so many seconds apart become one."""
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first - merged[-1][1] <= gap:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return merged
