"""The ranks of a job, with a log or without, and how to find one: by number, card, address or communicator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from signal import SIGTERM
from typing import TypeVar

from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.errors.message import NO_ADDRESS
from hccl_kit.diagnosis.errors.operators import CARD_FULL
from hccl_kit.diagnosis.facts import Card, Event, Process
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.records import OWN, Record
from hccl_kit.diagnosis.verdict.work import Work, is_later
from hccl_kit.table.model import RankTable

NEAR = 30.0
"""Seconds before the last line of a process in which an error that no row knows may be why it ended."""
DEFAULT_GROUP = "(default_pg)"
"""How the name of torch's default group ends, which has all ranks."""
EXPLAINED = (
    facts.LinkTimedOut,
    facts.LinkRow,
    facts.P2PTimedOut,
    facts.OperatorTimedOut,
    facts.RootUnreachable,
    facts.RootSilent,
    facts.Watchdog,
    facts.ArgumentMismatch,
    facts.VersionMismatch,
)
"""Errors with causes of their own, of which an earlier error is none."""
_OF_DRIVER = ("DRV", "RUNTIME", "ASCENDCL")
"""Modules of CANN that report each allocation that fails."""
_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class Rank:
    """A process of the job that left a log or a record.

    `number` is its rank in the job, None if no line names it. `groups` has its rank in each communicator. `is_cut`: a
    part of its log is missing, or it has errors of which none is known here, so that the absence of one proves nothing.
    `last` is the time of the last line of its plogs, `record` what recorders kept of it.
    """

    process: Process
    number: int | None
    suspect: Suspect
    card: Card
    groups: Mapping[str, int]
    events: tuple[Event, ...]
    is_cut: bool
    last: float | None = None
    record: Record | None = None

    @cached_property
    def work(self) -> Work:
        """When the process last did something useful."""
        return Work.of(self.events)

    @cached_property
    def errors(self) -> tuple[Event, ...]:
        """The errors that the process did not survive."""
        return tuple(event for event in self.events if event.is_error and not self.survived(event))

    def survived(self, event: Event) -> bool:
        """Whether the process went on after an error.

        Some installations log errors at every start. So one that no row knows counts only if the process ended soon
        after it, and for no other reason.
        """
        if self.work.is_after(event):
            return True
        if not isinstance(event.fact, facts.Fault):
            return False
        if event.fact.module in _OF_DRIVER and event.fact.kind.startswith(CARD_FULL):  # allocators try again
            return any(
                isinstance(other.fact, facts.OperatorTimedOut) and is_later(other, event) for other in self.events
            )
        if not event.fact.is_unknown or event.time is None:
            return False
        if self.is_cut or (self.last is not None and self.last - event.time > NEAR):
            return True  # what a log has lost may show that the process went on
        return any(isinstance(other.fact, EXPLAINED) and is_later(other, event) for other in self.events)


def stated(ranks: Iterable[Rank], kind: type[_Kind]) -> list[tuple[Rank, Event, _Kind]]:
    """The facts of this kind that ranks state, in the order of the ranks and of their lines."""
    return [(rank, event, event.fact) for rank in ranks for event in rank.events if isinstance(event.fact, kind)]


def holders(ranks: Iterable[Rank], names: Container[str]) -> dict[str, dict[str, dict[Suspect, Event]]]:
    """The ranks that have each value of these settings, each with the line that states it."""
    values: dict[str, dict[str, dict[Suspect, Event]]] = defaultdict(lambda: defaultdict(dict))
    for rank, event, fact in stated(ranks, facts.Setting):
        if fact.name in names:
            values[fact.name][fact.value].setdefault(rank.suspect, event)
    return values


@dataclass(frozen=True)
class Job:
    """The job. `size` is the number of its ranks, None if nothing names it; `silent` are those without log and record.

    `launcher` has what launchers say of ranks, in the order of their logs; `notes` what those of ours and gloo say of
    the last start. `members` are the ranks of process groups of torch.
    """

    size: int | None
    world: str | None
    ranks: tuple[Rank, ...]
    silent: tuple[Suspect, ...]
    launcher: tuple[Event, ...]
    names: Mapping[str, str]
    table: RankTable | None
    left_out: frozenset[Process] = frozenset()
    """Processes of other runs."""
    members: Mapping[str, frozenset[int]] = field(default_factory=dict)
    notes: tuple[Event, ...] = ()

    @cached_property
    def clock(self) -> Mapping[Process, str]:
        """The clock of each process: its server if only one worker has it, else its worker.

        A folder may hold the logs of several servers, and then a process that names none has a clock of its own.
        """
        servers: dict[str, set[str]] = defaultdict(set)
        workers: dict[str, set[str]] = defaultdict(set)
        for rank in self.ranks:
            if rank.card.server is not None:
                servers[rank.process.worker].add(rank.card.server)
                workers[rank.card.server].add(rank.process.worker)
        names = {}
        for rank in self.ranks:
            worker = rank.process.worker
            servers_here = servers[worker]
            name = rank.card.server or (next(iter(servers_here)) if len(servers_here) == 1 else None)
            if name is not None:
                names[rank.process] = name if len(workers[name]) == 1 else f"{name} in {worker}"
            else:
                names[rank.process] = f"{worker} {rank.process.pid}" if servers_here else worker
        return names

    @cached_property
    def exits(self) -> tuple[tuple[Event, facts.Exited], ...]:
        """What launchers say of the ends of ranks."""
        return tuple((event, event.fact) for event in self.launcher if isinstance(event.fact, facts.Exited))

    @cached_property
    def ended_by_launcher(self) -> frozenset[int]:
        """The ranks that a launcher ended itself."""
        return frozenset(end.rank for _, end in self.exits if end.by_launcher)

    @cached_property
    def seen_ends(self) -> Mapping[Suspect, float]:
        """When a launcher of its server saw each rank end by itself: soon after the error that ended it."""
        times: dict[Suspect, set[float]] = defaultdict(set)
        for event, end in self.exits:
            if not end.by_launcher and end.signal != SIGTERM and event.time is not None:
                suspect = self.by_number.get(end.rank)
                rank = self.by_suspect.get(suspect) if suspect else None
                if rank and rank.process.worker == event.process.worker:
                    times[rank.suspect].add(event.time)
        return {suspect: moments.pop() for suspect, moments in times.items() if len(moments) == 1}

    @cached_property
    def by_suspect(self) -> Mapping[Suspect, Rank]:
        """The rank with a log, by its identity."""
        return {rank.suspect: rank for rank in self.ranks}

    @cached_property
    def by_number(self) -> Mapping[int, Suspect]:
        """Every rank of the job, with a log or without."""
        known = {silent.rank: silent for silent in self.silent if silent.rank is not None}
        return known | {rank.number: rank.suspect for rank in self.ranks if rank.number is not None}

    @cached_property
    def by_group_rank(self) -> Mapping[tuple[str, int], Suspect]:
        """A rank by its number in a communicator."""
        return {(group, number): rank.suspect for rank in self.ranks for group, number in rank.groups.items()}

    @cached_property
    def by_card(self) -> Mapping[tuple[str, int], Suspect]:
        """A rank by its server and the physical number of its card."""
        silent = {
            (suspect.server, suspect.device): suspect
            for suspect in self.silent
            if suspect.server is not None and suspect.device is not None
        }
        return silent | {
            (rank.card.server, rank.card.physical): rank.suspect
            for rank in self.ranks
            if rank.card.server is not None and rank.card.physical is not None
        }

    @cached_property
    def by_address(self) -> Mapping[str, Suspect]:
        """A rank by the address of its card; an address that several cards have names none of them."""
        suspects: dict[str, list[Suspect]] = defaultdict(list)
        for rank in self.ranks:
            if rank.card.address is not None:
                suspects[rank.card.address].append(rank.suspect)
        if self.table is not None:
            for device in self.table.every:
                suspect = self.by_number.get(device.rank)
                if device.ip and suspect is not None and suspect not in suspects[device.ip]:
                    suspects[device.ip].append(suspect)
        return {
            address: holders[0]
            for address, holders in suspects.items()
            if len(holders) == 1 and address not in NO_ADDRESS
        }

    @cached_property
    def records(self) -> Mapping[int, Record]:
        """The records by rank, in the order of ranks."""
        return {rank.number: rank.record for rank in self.ranks if rank.number is not None and rank.record is not None}

    @cached_property
    def unrecorded(self) -> tuple[int, ...]:
        """The ranks that left no record."""
        size = self.size or 1 + max(self.records, default=-1)
        return tuple(number for number in range(size) if number not in self.records)

    @cached_property
    def is_recorded(self) -> bool:
        """Whether every rank left a record, and nothing of it is missing."""
        return not self.unrecorded and not any(record.is_cut for record in self.records.values())

    @cached_property
    def streams(self) -> tuple[str, ...]:
        """All streams of collectives, that of our own recorder first."""
        return tuple(sorted({stream for record in self.records.values() for stream in record.streams}))

    def members_of(self, stream: str) -> frozenset[int]:
        """The ranks that take part in a stream: as dumps name them, or else those that were seen in it."""
        if stream == OWN or stream.endswith(DEFAULT_GROUP):
            return frozenset((*self.records, *self.unrecorded))
        seen = frozenset(number for number, record in self.records.items() if stream in record.streams)
        return self.members.get(stream, frozenset()) | seen

    def suspects(self, numbers: Iterable[int]) -> tuple[Suspect, ...]:
        """The ranks with these numbers."""
        return tuple(self.by_number.get(number) or Suspect(number, None, None) for number in numbers)

    def canonical(self, group: str | None) -> str | None:
        """One name for a communicator that has two."""
        return None if group is None else self.names.get(group, group)

    def at_card(self, card: Card) -> Suspect:
        """The rank of a card, or what the line says of it."""
        suspect = None
        if card.server is not None and card.physical is not None:
            suspect = self.by_card.get((card.server, card.physical))
        if suspect is None and card.address is not None:
            suspect = self.by_address.get(card.address)
        if suspect is not None:
            return suspect
        on_server = [suspect for suspect in self.everyone if card.server is not None and suspect.server == card.server]
        if len(on_server) == 1 and card.physical is None and card.address is None:
            return on_server[0]
        if card.address is not None and self._is_last_card and all(rank.card.address for rank in self.ranks):
            return self.silent[0]
        if card.server is not None and card.physical is not None and self._is_last_card:
            return self.silent[0]._replace(server=card.server, device=card.physical)
        return Suspect(None, card.server or card.address, card.physical)

    @cached_property
    def _is_last_card(self) -> bool:
        """Whether every rank is on a known card but one, which is on the only card that is not known."""
        return len(self.silent) == 1 and all(
            rank.number is not None and rank.card.server is not None and rank.card.physical is not None
            for rank in self.ranks
        )

    @cached_property
    def everyone(self) -> tuple[Suspect, ...]:
        """All ranks, those with a log first."""
        return (*(rank.suspect for rank in self.ranks), *self.silent)

    def in_group(self, rank: Rank, number: int, group: str | None, number_here: int | None) -> Suspect | None:
        """The rank with a number, as `rank` counts: in `group`, or in those communicators where it is `number_here`.

        None if that is not one rank, or if the communicator has no such number.
        """
        name = self.canonical(group)
        if name is not None and name in rank.groups:
            return self._member(name, number)
        groups = [name for name, as_rank in rank.groups.items() if number_here is None or as_rank == number_here]
        if not groups:
            return self.by_number.get(number) if number_here is None or number_here == rank.number else None
        members = {self._member(name, number) for name in groups} - {None}
        return members.pop() if len(members) == 1 else None

    def _member(self, group: str, number: int) -> Suspect | None:
        if group == self.world:
            return self.by_number.get(number)
        return self.by_group_rank.get((group, number))
