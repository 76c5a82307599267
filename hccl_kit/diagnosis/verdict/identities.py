"""Which logs are of one rank: the later of two processes, what the rank printed, and its record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import PurePath
from signal import SIGTERM

from hccl_kit.diagnosis.facts import (
    Card,
    Connected,
    Event,
    Evidence,
    Exited,
    Fault,
    Joined,
    Located,
    NeverConnected,
    Process,
    Progress,
)
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.job import Rank, stated
from hccl_kit.diagnosis.verdict.records import Record
from hccl_kit.diagnosis.verdict.runs import START

_OF_CANN = ("plog-", "device-")
"""How the names of CANN's logs begin, which have the pid."""


def with_one_process(evidence: Evidence) -> Evidence:
    """The evidence, in which what a process printed is of the process whose plog lies in another folder.

    A pid is that of one process of a host: the output must lie in a folder of that host, or above the folders of all.
    """
    plogs: dict[int, dict[Process, PurePath]] = defaultdict(dict)
    for file in evidence.files:
        path = PurePath(file.file)
        if file.process.pid is not None and path.name.startswith(_OF_CANN):
            plogs[file.process.pid][file.process] = path

    def owner(process: Process, file: str) -> Process:
        others = plogs.get(process.pid, {}) if process.pid is not None else {}
        if not others or process in others:
            return process
        folders = PurePath(file).parents
        inside = [other for other, path in others.items() if _folder_of(other, path) in folders]
        above = [other for other, path in others.items() if folders[0] in path.parents]
        owners = inside or above
        return owners[0] if len(owners) == 1 else process

    owners = {key: owner(*key) for key in {(event.process, event.place.file) for event in evidence.events}}
    moved = {key: process for key, process in owners.items() if process != key[0]}
    if not moved:
        return evidence
    return evidence._replace(
        events=tuple(
            event._replace(process=moved.get((event.process, event.place.file), event.process))
            for event in evidence.events
        )
    )


def _folder_of(process: Process, file: PurePath) -> PurePath | None:
    """The folder of the worker that a plog is of."""
    name = PurePath(process.worker).name
    return next((folder for folder in file.parents if folder.name == name), None)


def latest(ranks: Iterable[Rank]) -> tuple[list[Rank], list[Process]]:
    """Of several processes that were one rank, the one whose log ends last; and the others."""
    kept: list[Rank] = []
    by_number: dict[int, Rank] = {}
    replaced: list[Process] = []
    for rank in ranks:
        if rank.number is None:
            kept.append(rank)
            continue
        other = by_number.get(rank.number)
        if other is None or _end(rank) >= _end(other):
            by_number[rank.number] = rank
        if other is not None:
            replaced.append(rank.process if by_number[rank.number] is other else other.process)
    return [*by_number.values(), *kept], replaced


def is_screen(rank: Rank) -> bool:
    """Whether the log is what a rank printed to its launcher; its plog is another file."""
    return rank.process.pid is None and rank.process.rank is not None


def may_be_of_another_run(ranks: Sequence[Rank], outputs: Sequence[Rank]) -> bool:
    """Whether only outputs have errors, and lie in other folders than the plogs, which then tell nothing of this run.

    The host and the card that they name would be those of another one.
    """
    apart = {rank.process.worker for rank in ranks}.isdisjoint(output.process.worker for output in outputs)
    failing = [any(event.is_error for rank in part for event in rank.events) for part in (ranks, outputs)]
    return apart and failing == [False, True]


def without_place(rank: Rank) -> Rank:
    """The rank without its host and card."""
    return replace(rank, card=Card(), suspect=Suspect(rank.number, None, None))


def with_screens(ranks: Iterable[Rank], outputs: Iterable[Rank], unknown: Set[Process]) -> list[Rank]:
    """The ranks with what they printed, and ranks that left nothing else.

    A screen that ends in the middle of a line says nothing, as a progress bar does so too; but one with an error that
    is not known, as its line is cut, is not one without an error.

    A process that failed before its log named its rank is the only one of its worker whose rank is not known, if its
    screen is the only one there without a process.
    """
    ranks = list(ranks)
    screens = {output.number: output for output in outputs if output.number is not None}
    taken = {rank.number for rank in ranks if rank.number is not None}
    nameless = _only_ones(rank for rank in ranks if rank.number is None and rank.process.pid is not None)
    rest = _only_ones(screen for number, screen in screens.items() if number not in taken)
    joined = []
    for rank in ranks:
        screen = screens.get(rank.number) if rank.number is not None else None
        if screen is None and nameless.get(rank.process.worker) is rank:
            screen = rest.get(rank.process.worker)
        known = rank if screen is None else _numbered(rank, screen.number)
        if screen is not None:
            is_cut = known.is_cut or screen.process in unknown
            suspect = known.suspect._replace(server=known.suspect.server or screen.suspect.server)
            known = replace(known, events=(*known.events, *screen.events), is_cut=is_cut, suspect=suspect)
        joined.append(known)
    taken = {rank.number for rank in joined if rank.number is not None}
    return [*joined, *(screen for number, screen in screens.items() if number not in taken)]


def with_known_ends(ranks: Sequence[Rank]) -> list[Rank]:
    """The ranks; one whose log ends steps before those of others is cut, as all take each step together."""
    last = {
        rank.process: max(event.fact.step for event in rank.events if isinstance(event.fact, Progress))
        for rank in ranks
        if any(isinstance(event.fact, Progress) for event in rank.events)
    }
    furthest = max(last.values(), default=0)
    return [
        replace(rank, is_cut=True) if last.get(rank.process, furthest) < furthest - 1 and not rank.errors else rank
        for rank in ranks
    ]


def with_lines_of_cards(ranks: Sequence[Rank], events: Iterable[Event]) -> list[Rank]:
    """The ranks with those of other errors of their worker whose line names no process, but the card of one rank."""
    cards: dict[object, set[Process]] = defaultdict(set)
    for rank in ranks:
        for seen in rank.events:
            if isinstance(seen.fact, Joined | Located) and seen.fact.logic is not None:
                cards[rank.process.worker, seen.fact.logic].add(rank.process)
    events = list(events)
    lines = {line.place: (line.process.worker, line.fact.logic) for line in events if isinstance(line.fact, Located)}
    lines_of: dict[Process, list[Event]] = defaultdict(list)
    for event in events:
        processes = cards.get(lines.get(event.place), set())
        if event.is_error and len(processes) == 1:
            lines_of[min(processes)].append(event)
    return [replace(rank, events=(*rank.events, *lines_of[rank.process])) for rank in ranks]


def _only_ones(ranks: Iterable[Rank]) -> dict[str, Rank]:
    """The rank of each worker that has no more than one of these."""
    ranks_of: dict[str, list[Rank]] = defaultdict(list)
    for rank in ranks:
        ranks_of[rank.process.worker].append(rank)
    return {worker: only[0] for worker, only in ranks_of.items() if len(only) == 1}


def _numbered(rank: Rank, number: int | None) -> Rank:
    return replace(rank, number=number, suspect=rank.suspect._replace(rank=number))


def eliminated(ranks: list[Rank], size: int | None) -> list[Rank]:
    """The ranks; the only process whose log names no rank gets one, if only one is left for it.

    That is the only rank without a log, or the only one of these that the root of the job has not heard from; a log
    that is cut may be that of any rank without one.
    """
    nameless = [rank for rank in ranks if rank.number is None]
    if len(nameless) != 1 or size is None or not _is_of_job(nameless[0], ranks):
        return ranks
    left = set(range(size)) - {rank.number for rank in ranks}
    unheard = [set(fact.ranks) for _, _, fact in stated(ranks, NeverConnected)]
    came = [set(fact.ranks) for _, _, fact in stated(ranks, Connected) if fact.expected == size]
    left = left if nameless[0].is_cut else left.intersection(*unheard).difference(*came)
    if len(left) != 1:
        return ranks
    return [_numbered(rank, left.copy().pop()) if rank is nameless[0] else rank for rank in ranks]


def seen_to_end(ranks: Sequence[Rank], launcher: Sequence[Event]) -> list[Rank]:
    """The ranks; the only error of lines that name no rank is that of the only rank that launchers saw end first.

    An exception gives an exit code. Slurm names none as the first; what it names may be a node of torchrun. Launchers
    of the folder of the lines go before others.
    """
    ends: dict[str, list[Exited]] = defaultdict(list)
    screens: dict[str, list[Event]] = defaultdict(list)
    for event in launcher:
        fact = event.fact
        if isinstance(fact, Exited) and not fact.by_launcher and fact.signal != SIGTERM:
            ends[event.process.worker].append(fact)
        elif isinstance(fact, Fault) and event.is_error:
            screens[event.process.worker].append(event)
    nameless = {rank.process.worker: rank for rank in ranks if rank.number is None and rank.process.pid is None}
    for worker, rank in nameless.items():
        screens[worker] += rank.errors
    known = {rank.number: rank for rank in ranks if rank.number is not None}
    rest = [rank for rank in ranks if rank.number is None]
    every_end = [end for of_worker in ends.values() for end in of_worker]
    for worker, errors in screens.items():
        number = _ended_by(errors, ends.get(worker, every_end))
        if number is None or (number in known and (worker in nameless or known[number].errors)):
            continue
        if worker in nameless:
            known[number] = _numbered(nameless[worker], number)
            rest.remove(nameless[worker])
        elif number in known and _is_beside(errors[0], known[number]):
            known[number] = replace(known[number], events=(*known[number].events, *errors))
        else:
            process, suspect = Process(worker, None, number), Suspect(number, worker if known else None, None)
            known[number] = Rank(process, number, suspect, Card(), {}, tuple(errors), is_cut=False)
    return [*known.values(), *rest]


def _is_beside(event: Event, rank: Rank) -> bool:
    """Whether a line may be of a process with a plog: it lies in a folder of its worker, or above."""
    folders = PurePath(event.place.file).parents
    plogs = (PurePath(other.place.file) for other in rank.events)
    return event.process.worker == rank.process.worker or any(
        _folder_of(rank.process, plog) in folders or folders[0] in plog.parents for plog in plogs
    )


def _ended_by(errors: Iterable[Event], ends: Sequence[Exited]) -> int | None:
    """The rank that the only error ended, as its launcher saw; None if these are several, or do not fit."""
    faults = [event.fact for event in errors if isinstance(event.fact, Fault) and not event.fact.is_symptom]
    ends = [end for end in ends if end.is_first] or ends
    if len(faults) != 1 or len({end.rank for end in ends}) != 1:
        return None
    is_its_end = ends[0].code if faults[0].module == "PYTHON" else ends[0].signal
    return ends[0].rank if is_its_end else None


def with_records(ranks: Iterable[Rank], by_number: Mapping[int, tuple[Process, Record]]) -> list[Rank]:
    """The ranks with their records, and those that left nothing else, whose log proves nothing by what it lacks."""
    rest = dict(by_number)
    known = []
    for rank in ranks:
        recorded = rest.pop(rank.number, None) if rank.number is not None else None
        known.append(replace(rank, record=recorded[1]) if recorded else rank)
    for number, (process, record) in rest.items():
        known.append(Rank(process, number, Suspect(number, None, None), Card(), {}, (), is_cut=True, record=record))
    return known


def _is_of_job(rank: Rank, ranks: Iterable[Rank]) -> bool:
    """Whether a process ran while the others of its worker did, and so is not of another run."""
    others = [
        event.time
        for other in ranks
        if other is not rank and other.process.worker == rank.process.worker
        for event in other.events
        if event.time is not None
    ]
    times = [event.time for event in rank.events if event.time is not None]
    return not others or (bool(times) and min(others) - START <= max(times) and min(times) <= max(others))


def _end(rank: Rank) -> float:
    return max((event.time for event in rank.events if event.time is not None), default=0.0)
