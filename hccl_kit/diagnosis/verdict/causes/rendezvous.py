"""The creation of a communicator: who the root has not heard from, and who could not reach the root."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import ip_address, ip_network
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.wording import clauses
from hccl_kit.diagnosis import facts
from hccl_kit.diagnosis.facts import Event
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, by_rank, cannot_tell, missing_logs, verdict
from hccl_kit.diagnosis.verdict.causes.links import LINK_FACTS, timeout
from hccl_kit.diagnosis.verdict.diagnosis import Certainty, Suspect
from hccl_kit.diagnosis.verdict.job import Rank, stated
from hccl_kit.diagnosis.verdict.names import rank_name, rank_names
from hccl_kit.diagnosis.verdict.waits import failed_group, missing

SOON = 30.0
"""Seconds in which a rank that finds no root at all gives up; to one that does not answer, it takes longer."""
IN_OPERATORS = (*LINK_FACTS, facts.OperatorTimedOut, facts.Watchdog)


class _Roll(NamedTuple):
    """The ranks that a root reports as absent: by number in its communicator, and as ranks of the job if known."""

    root: Rank
    event: Event
    group: str | None
    known: dict[int, Suspect | None]

    @property
    def absent(self) -> list[Suspect]:
        return [suspect or Suspect(number, None, None) for number, suspect in self.known.items()]


def wrong_interface(case: Case) -> Cause | None:
    """The ranks of a server that has given an address which no other server reaches, such as that of docker0."""
    stopped = [event for rank in case.job.ranks for event in rank.events if isinstance(event.fact, _AT_ROOT)]
    if not stopped:
        return None
    odd = [rank for rank in case.job.ranks if is_unrouted(rank.card.server)]
    ours = [rank.suspect for rank in odd]
    addresses = {rank.card.server for rank in odd}
    for event in stopped:
        if isinstance(event.fact, facts.RootUnreachable) and is_unrouted(event.fact.server):
            addresses.add(event.fact.server)
            ours = ours or [suspect for suspect in case.job.everyone if suspect.rank == 0]
    if not ours or (len(odd) == len(case.job.ranks) and not case.job.silent):
        return None
    return verdict(
        "diagnosis.wrong-interface",
        "uses the network interface with {address}, an address that no other server reaches",
        sorted(ours, key=by_rank),
        stopped[:8],
        code="EI0015",
        fix="set HCCL_SOCKET_IFNAME to the interface between the servers there; `hccl-kit env TABLE` names it",
        why="{address} is for containers or virtual machines of one host (docker0, virbr0, lo)",
        contradicts=[missing_logs(case.job)],
        address=clauses(sorted(filter(None, addresses))),
    )


def is_unrouted(address: str | None) -> bool:
    """Whether an address is one that each host has for itself, by the defaults of Linux, docker and libvirt."""
    try:
        return address is not None and any(ip_address(address) in network for network in _UNROUTED)
    except ValueError:
        return False


_UNROUTED = tuple(map(ip_network, ("127.0.0.0/8", "169.254.0.0/16", "172.17.0.0/16", "192.168.122.0/24", "::1/128")))
_AT_ROOT = (facts.RootUnreachable, facts.Connected, facts.NeverConnected)


def missing_at_root(case: Case) -> Cause | None:
    """The ranks that the root names as absent, or leaves out of its list of those that came."""
    rolls = list(_lists(case))
    if not rolls:
        return None
    event, root, numbers = min(rolls, key=lambda item: (len(item[2]), sorted(item[2])))
    group = failed_group(root)
    roll = _Roll(
        root, event, group, {number: case.job.in_group(root, number, group, None) for number in sorted(numbers)}
    )
    if any(not numbers & other for _, _, other in rolls):
        reason = Message("diagnosis.several-roots", "the roots of several communicators report different missing ranks")
        return cannot_tell(reason, None, roll.absent, [event])
    waiting = case.waits.waiting
    held_up = [rank for rank in roll.absent if rank in waiting and isinstance(waiting[rank].fact, IN_OPERATORS)]
    if held_up and all(case.waits.targets.get(suspect) for suspect in held_up):
        return None  # They are victims, and the chains lead on.
    if doubt := _doubt(case, roll, held_up):
        return doubt
    kind, fix, certain = _words(case, root, roll.absent)
    why = Message(
        "diagnosis.absent-at-root",
        "{speaker} has not heard from {ranks}",
        speaker=_speaker(root),
        ranks=rank_names(roll.absent),
    )
    certainty: Certainty = "certain" if certain and len(roll.absent) == 1 else "likely"
    return Cause(certainty, kind, tuple(roll.absent), "EI0015", (event,), fix=fix, supports=(why,))


def _speaker(rank: Rank) -> Message:
    """The root, or a rank that knows from the root which ranks are absent."""
    is_root = rank.number in (0, None) or bool(stated([rank], facts.RootCreated))
    name = rank_name(rank.suspect)
    if not is_root:
        return Message("diagnosis.root-by", "as {rank} says, the root", rank=name)
    if rank.suspect == (None, None, None):
        return Message("diagnosis.root", "the root")
    return Message("diagnosis.root-named", "{rank}, the root,", rank=name)


def _doubt(case: Case, roll: _Roll, held_up: list[Suspect]) -> Cause | None:
    """Why the absent ranks may not be the fault."""
    absent = roll.absent
    if None in roll.known.values() and roll.group is not None and case.job.canonical(roll.group) != case.job.world:
        return cannot_tell(
            "diagnosis.absent-in-group",
            "{ranks} of {group} never joined; the logs do not show which ranks of the job these are",
            [suspect for suspect in roll.known.values() if suspect],
            [roll.event],
            ranks=rank_names(absent),
            group=roll.group,
        )
    if held_up:
        reason = Message(
            "diagnosis.held-up", "{ranks} never joined, but waited in another operator", ranks=rank_names(held_up)
        )
        return cannot_tell(reason, None, held_up, [roll.event])
    if len(absent) > 1 and len(absent) == (case.job.size or 0) - 1:
        root = roll.root.suspect
        return cannot_tell(
            "diagnosis.only-root",
            "only the root joined: either {rank} cannot be reached, or the others did not start",
            [root, *absent],
            [roll.event],
            rank=rank_name(root),
        )
    return None


def root_not_reached(case: Case) -> Cause | None:
    """Ranks that could not connect to the root of their communicator."""
    unreached = case.facts(facts.RootUnreachable)
    if not unreached:
        return None
    ranks = list(dict.fromkeys(rank.suspect for rank, *_ in unreached))
    events = [event for _, event, _ in unreached]
    roots = {edge.target for edge in case.waits.edges if isinstance(edge.event.fact, facts.RootUnreachable)} - {None}
    if len(roots) != 1:
        return cannot_tell(
            "diagnosis.root-unknown", "the logs do not show which rank is the root that was not reached", ranks, events
        )
    root = roots.pop()
    assert root is not None
    others = [rank for rank in case.job.ranks if rank.suspect != root and rank.suspect not in ranks]
    if others and (root in case.job.by_suspect or stated(others, facts.RootSilent)):
        # Others reached it, so that the fault is on the side of those who did not.
        servers = {case.job.clock[case.job.by_suspect[suspect].process] for suspect in ranks if suspect.server}
        if len(servers) > 1:
            return cannot_tell(
                "diagnosis.root-reached",
                "{ranks} could not connect to {root}, others could",
                ranks,
                events,
                ranks=rank_names(ranks),
                root=rank_name(root),
            )
        late = [_lateness(case, None, case.job.by_suspect[suspect]) for suspect in ranks]
        kind = late[0] if all(late) else _LATE_OR_CUT_OFF
        suspects = tuple(sorted(ranks, key=by_rank))
        return Cause("likely", kind, suspects, "EI0015", tuple(events), fix=_EITHER_FIX)
    if root in case.job.by_suspect or others or len(case.job.silent) > 1:
        either = Message("diagnosis.root-or-network", "either the root or the network to it is at fault")
        return cannot_tell(missing_logs(case.job) or either, None, [root, *ranks], events)
    return verdict(
        "diagnosis.root-unreachable",
        "was not reachable when the others connected",
        [root],
        events,
        code="EI0015",
        hint=_FIX,
        why="{ranks} could not connect to it",
        ranks=rank_names(ranks),
    )


NO_LOG = Message("diagnosis.never-joined", "never joined the communicator, and left no log")
_LATE_OR_CUT_OFF = Message("diagnosis.late-or-cut-off", "came too late for the root, or does not reach it")
_LATE_FIX = Message("diagnosis.joined-late.fix", "start all ranks together, or raise HCCL_CONNECT_TIMEOUT on all")
_FIX = Message(
    "diagnosis.root-unreachable.fix",
    "check on both servers that HCCL_SOCKET_IFNAME names the interface between them and that no firewall closes the"
    " ports from HCCL_IF_BASE_PORT (60000) on",
)
_EITHER_FIX = Message("diagnosis.fix-or", "{fix}; else {other}", fix=_LATE_FIX, other=_FIX)


def start_of(absent: Iterable[Suspect]) -> Message:
    """The next step for ranks that never joined."""
    return Message(
        "diagnosis.never-joined.fix",
        "find out why {ranks} did not start, or did not get as far as creating the communicator",
        ranks=rank_names(absent),
    )


def _lists(case: Case) -> Iterator[tuple[Event, Rank, frozenset[int]]]:
    for rank in case.job.ranks:
        for event in rank.events:
            if isinstance(event.fact, facts.NeverConnected | facts.Connected) and (
                numbers := missing(case.job, rank, event.fact)
            ):
                yield event, rank, numbers


def _words(case: Case, root: Rank, absent: list[Suspect]) -> tuple[str, str, bool]:
    ranks = [rank for suspect in absent if (rank := case.job.by_suspect.get(suspect))]
    if not ranks:
        return NO_LOG, start_of(absent), True
    late = [_lateness(case, root, rank) for rank in ranks]
    if all(late) and len(ranks) == len(absent):
        return late[0], _LATE_FIX, False
    if any(isinstance(event.fact, facts.RootUnreachable) for event in ranks[0].events):
        return _LATE_OR_CUT_OFF, _EITHER_FIX, False
    if not any(isinstance(event.fact, facts.Joined) for event in ranks[0].events):
        kind = Message("diagnosis.never-started", "never started to create the communicator")
        return kind, start_of(absent), True
    return Message("diagnosis.joined-late", "joined the communicator too late"), _LATE_FIX, False


def _lateness(case: Case, root: Rank | None, rank: Rank) -> str:
    """How a rank was late, in words; "" if nothing shows it. Clocks of two servers are not compared."""
    entries = [event.time for event in rank.events if isinstance(event.fact, facts.Joined) and event.time is not None]
    of_root = root.events if root and case.job.clock[rank.process] == case.job.clock[root.process] else ()
    begun = [event.time for event in of_root if isinstance(event.fact, facts.Joined) and event.time is not None]
    limit = timeout(case)
    if entries and begun:
        seconds = min(entries) - min(begun)
        if seconds <= limit - SOON:
            return ""
        return Message("diagnosis.late-after", "joined too late, {seconds:.0f} s after the root", seconds=seconds)
    failed = [
        event.time for event in rank.events if isinstance(event.fact, facts.RootUnreachable) and event.time is not None
    ]
    if entries and failed and 0 <= min(failed) - min(entries) < min(SOON, limit / 2):
        return Message("diagnosis.late-for-root", "joined too late: the root did not listen any more")
    return ""
