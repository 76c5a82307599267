"""From what was read to the ranks of a job: which process is which rank on which card, and which ranks left no log.

Several communicators and several runs may leave logs in one folder. The largest communicator is the job; of two
processes that were the same rank of it, the later one counts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.facts import MAX_RANK, Card, Event, Evidence, Process
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.identities import (
    eliminated,
    is_screen,
    latest,
    may_be_of_another_run,
    seen_to_end,
    with_known_ends,
    with_lines_of_cards,
    with_one_process,
    with_records,
    with_screens,
    without_place,
)
from hccl_kit.diagnosis.verdict.job import Job, Rank
from hccl_kit.diagnosis.verdict.places import DEVICE_FOLDER, Places, cards_of
from hccl_kit.diagnosis.verdict.records import records
from hccl_kit.diagnosis.verdict.runs import other_runs
from hccl_kit.table.model import RankTable

_WITH_GROUP = (facts.OperatorTimedOut, facts.JoinFailed)
_OF_OWN_RANK = (facts.LinkTimedOut, facts.LinkRow, facts.LinkFailed, facts.Watchdog, *_WITH_GROUP)
TORCH_WORLD = "0"
"""The number of torch's default process group, in lines of its watchdog."""
_FOLDER = re.compile(r"rank[_-]?([0-9]{1,7})")


def assemble(evidence: Evidence, table: RankTable | None = None) -> Job:
    """The job of all that was read."""
    evidence = with_one_process(evidence)
    recorded = records(evidence)
    names = {event.fact.name: event.fact.group for event in evidence.events if isinstance(event.fact, facts.GroupNamed)}
    by_process, launcher = _processes(evidence)
    explained = {event.place.file for event in evidence.events if event.is_error}
    unknown = {file.process for file in evidence.files if file.has_error and file.file not in explained}
    of_host = {file.process for file in evidence.files if not DEVICE_FOLDER.search(file.file)}
    cut = unknown | {file.process for file in evidence.files if file.cut or file.process not in of_host}
    groups = {process: _groups(events, names) for process, events in by_process.items()}
    old = other_runs(by_process, groups, launcher)
    by_process = {process: events for process, events in by_process.items() if process not in old}
    groups = {process: groups[process] for process in by_process}
    world, size = _world(by_process.values(), groups.values(), names)
    of_job = _names_of_job(by_process.values(), groups.values(), names, world)
    size = max(size or 0, recorded.size or 0, len(table.every) if table is not None else 0) or None
    cards = cards_of(by_process)
    places = Places(table, launcher)
    last: dict[Process, float] = {}
    for file in evidence.files:
        if file.process.pid is not None and file.last is not None:
            last[file.process] = max(file.last, last.get(file.process, file.last))
    has_others = len({process.worker for process in by_process}) > 1
    assembled = [
        _rank(
            process,
            tuple(sorted(events, key=_order)),
            groups[process],
            world,
            card=cards[process],
            places=places,
            of_job=of_job,
            is_cut=process in cut,
            folder=process.worker if has_others else None,
            last=last.get(process),
        )
        for process, events in by_process.items()
    ]
    ranks, replaced = latest(rank for rank in assembled if not is_screen(rank))
    screens = latest(rank for rank in assembled if is_screen(rank))[0]
    if may_be_of_another_run(ranks, screens):
        ranks = [without_place(rank) for rank in ranks]
    ranks = with_known_ends(with_screens(ranks, screens, unknown))
    ranks = seen_to_end(eliminated(with_lines_of_cards(ranks, launcher), size), launcher)
    ranks = with_records(ranks, recorded.ranks)
    left_out = frozenset((*old, *replaced))
    ranks.sort(key=lambda rank: (rank.number is None, rank.number or 0, rank.process.worker, rank.process.pid or 0))
    return Job(
        size,
        world,
        tuple(ranks),
        _silent(ranks, size, table),
        tuple(launcher),
        names,
        table,
        left_out,
        recorded.members,
        recorded.notes,
    )


def _processes(evidence: Evidence) -> tuple[dict[Process, list[Event]], list[Event]]:
    """The events of each process, and those of launchers."""
    by_process: dict[Process, list[Event]] = defaultdict(list)
    for file in evidence.files:
        if file.process.pid is not None:
            by_process[file.process] = []
    launcher: list[Event] = []
    for event in evidence.events:
        if isinstance(event.fact, facts.Exited):
            launcher.append(event)
        elif event.process.pid is not None or event.process in by_process or isinstance(event.fact, facts.Joined):
            by_process[event.process].append(event)
        else:
            launcher.append(event)
    if not by_process:  # logs that name no process, such as what a user saved of one: each folder is one
        failing = {event.process for event in launcher if event.is_error and not isinstance(event.fact, facts.Exited)}
        for event in launcher:
            if event.process in failing and not isinstance(event.fact, facts.Exited):
                by_process[event.process].append(event)
        launcher = [event for event in launcher if event.process not in failing or isinstance(event.fact, facts.Exited)]
    return by_process, launcher


def _order(event: Event) -> tuple[str, int]:
    return event.place.file, event.place.line


def _groups(events: Iterable[Event], names: Mapping[str, str]) -> dict[str, int]:
    """The rank of a process in each communicator: the last one that it joined under a name."""
    return {
        names.get(event.fact.group, event.fact.group): event.fact.rank
        for event in events
        if isinstance(event.fact, facts.Joined) and event.fact.group is not None
    }


def _world(
    all_events: Iterable[list[Event]], all_groups: Iterable[Mapping[str, int]], names: Mapping[str, str]
) -> tuple[str | None, int | None]:
    """The largest communicator, and its size."""
    sizes: dict[str, int] = {}
    members: dict[str, int] = defaultdict(int)
    nameless = smallest = 0
    for events in all_events:
        for event in events:
            if (
                isinstance(event.fact, facts.Joined | facts.JoinFailed)
                and event.fact.ranks
                and event.fact.ranks <= MAX_RANK
            ):
                if event.fact.group is None:
                    nameless = max(nameless, event.fact.ranks)
                else:
                    group = names.get(event.fact.group, event.fact.group)
                    sizes[group] = max(sizes.get(group, 0), event.fact.ranks)
            elif isinstance(event.fact, facts.OperatorTimedOut) and event.fact.rank in _named_ranks(events):
                smallest = max(smallest, min(event.fact.ranks or 0, MAX_RANK))
    for groups in all_groups:
        for group in groups:
            members[group] += 1
    if not sizes:
        return None, max(nameless, smallest) or None
    world = max(sizes, key=lambda group: (sizes[group], members[group], group))
    return world, max(sizes[world], nameless)


def _named_ranks(events: Iterable[Event]) -> set[int]:
    """The rank of a process in the job, as lines name it, or the name of a file."""
    return {event.fact.rank for event in events if isinstance(event.fact, facts.Joined) and event.fact.group is None}


def _names_of_job(
    all_events: Iterable[list[Event]],
    all_groups: Iterable[Mapping[str, int]],
    names: Mapping[str, str],
    world: str | None,
) -> Set[str | None]:
    """The communicators, by all their names, whose ranks are those of the job; None is that of lines without one.

    Where logs name several, a line without a name may be of any of them.
    """
    with_group = (event.fact for events in all_events for event in events if isinstance(event.fact, _WITH_GROUP))
    seen = {names.get(fact.group, fact.group) for fact in with_group if fact.group is not None}
    seen.update(group for groups in all_groups for group in groups)
    if len(seen) <= 1:
        return {None, TORCH_WORLD, *names, *seen}
    return {TORCH_WORLD, world, *(name for name, group in names.items() if group == world)} - {None}


def _rank(
    process: Process,
    events: tuple[Event, ...],
    groups: Mapping[str, int],
    world: str | None,
    *,
    card: Card,
    places: Places,
    of_job: Set[str | None],
    is_cut: bool,
    folder: str | None,
    last: float | None,
) -> Rank:
    """`folder` stands for the server where no line names it: it tells the processes of several folders apart."""
    number = groups.get(world) if world is not None else None
    if number is None and process.pid is None:
        number = process.rank
    if number is None:
        number = places.ended.get(process, _number_in_job(events, process, frozenset() if groups else of_job))
    seen = (event.fact.logic for event in events if isinstance(event.fact, facts.Located | facts.Joined))
    logic = next((number for number in seen if number is not None), None)
    number, card = places.completed(number, card, logic)
    device = logic if card.physical is None else card.physical
    return Rank(process, number, Suspect(number, card.server or folder, device), card, groups, events, is_cut, last)


def _number_in_job(events: Iterable[Event], process: Process, of_job: Set[str | None]) -> int | None:
    """The rank that other lines name, if no communicator does."""
    for event in events:
        if isinstance(event.fact, facts.Joined) and event.fact.group is None:
            return event.fact.rank
    for event in events:
        fact = event.fact
        if isinstance(fact, _OF_OWN_RANK) and fact.rank is not None and getattr(fact, "group", None) in of_job:
            return fact.rank
    match = _FOLDER.fullmatch(process.worker)
    return int(match[1]) if match else None


def _silent(ranks: Iterable[Rank], size: int | None, table: RankTable | None) -> tuple[Suspect, ...]:
    heard = {rank.number for rank in ranks}
    if table is not None:
        return tuple(
            Suspect(device.rank, server.id, device.id)
            for server in table.servers
            for device in server.devices
            if device.rank not in heard
        )
    return tuple(Suspect(number, None, None) for number in range(size or 0) if number not in heard)
