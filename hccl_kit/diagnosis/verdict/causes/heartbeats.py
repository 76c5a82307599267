"""Ranks that HCCL's heartbeat names: lost, stuck, or with broken packets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import inf

from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted
from hccl_kit.diagnosis.facts import Event, Heartbeat
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, by_rank, cannot_tell, verdict
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.job import Rank
from hccl_kit.diagnosis.verdict.names import rank_name, rank_names

SILENCE = 30.0
"""Seconds after which a rank that does not answer is lost."""
MARGIN = 5.0
"""Seconds by which clocks of two workers may still differ."""
_PRIORITY = ("error cqe", "stuck", "lost")
NO_ACKNOWLEDGEMENT = Message("diagnosis.no-acknowledgement", "no longer acknowledges packets")
_KINDS = {
    "lost": Message("diagnosis.lost", "stopped answering: its process has ended, or its network is down"),
    "stuck": Message("diagnosis.stuck", "is stuck"),
    "error cqe": NO_ACKNOWLEDGEMENT,
}


Named = tuple[Rank, Event, Suspect, Heartbeat]
"""A rank, the line in which its heartbeat names another rank, and that rank."""


def named_by_heartbeat(case: Case) -> Cause | None:
    """The rank that most processes hear of first. Errors of packets go before stuck ranks, and these before lost ones.

    A job that has failed ends, and its ranks stop answering one by one: what is heard after a failure proves nothing.
    """
    heard = list(_heard_first(case))
    if not heard:
        return None
    status = min((fact.status for *_, fact in heard), key=_PRIORITY.index)
    named = [name for name in heard if name[3].status == status]
    votes = Counter(suspect for _, _, suspect, _ in named)
    (_, most), *others = votes.most_common()
    if others and status == "lost" and (host := _host(case, votes)):
        return _lost_host(host, named, votes)
    if others and others[0][1] * 2 >= most:
        return _several(named, votes)
    return _rank(case, status, named, votes)


def _lost_host(host: Sequence[Suspect], named: Sequence[Named], votes: Iterable[Suspect]) -> Cause:
    return verdict(
        "diagnosis.lost-host",
        "stopped answering: it is down, or its pod or its network is",
        host,
        [event for _, event, *_ in named],
        code="EI0002",
        fix="see whether {server} is up: `last -x reboot`, events of its pod, `hccn_tool -i N -link -g`",
        why="the heartbeats name {ranks}, all of this host",
        server=host[0].server,
        ranks=rank_names(sorted(votes, key=by_rank)),
    )


def _several(named: Sequence[Named], votes: Iterable[Suspect]) -> Cause:
    ranks = rank_names(sorted(votes, key=str))
    reason = Message("diagnosis.several-lost", "the heartbeats name {ranks}", ranks=ranks)
    if {suspect for _, _, suspect, _ in named} == {rank.suspect for rank, *_ in named}:
        reason = Message(
            "diagnosis.lost-each-other",
            "{ranks} name each other: the network between them, or an operator that differs",
            ranks=ranks,
        )
    return cannot_tell(reason, None, votes, [event for _, event, *_ in named])


def _rank(case: Case, status: str, named: Sequence[Named], votes: Counter[Suspect]) -> Cause:
    (first, _), *others = votes.most_common()
    events = [event for _, event, suspect, _ in named if suspect == first]
    name = rank_name(first)
    contradicts = [
        Message("diagnosis.other-votes", "{number} ranks name {rank} instead", number=count, rank=rank_name(suspect))
        for suspect, count in others
    ]
    if status == "lost" and first in case.waits.waiting and not _names_itself(named, first):
        contradicts.append(
            Message("diagnosis.alive-later", "{rank} was alive later: its log has a timeout of its own", rank=name)
        )
    why = Message("diagnosis.votes", "the heartbeat of {ranks} names it", ranks=counted(len(events), "rank"))
    return Cause(
        "likely" if contradicts or (len(events) < 2 and not _names_itself(named, first)) else "certain",
        _KINDS[status],
        (first,),
        "EI0013" if status == "error cqe" else "EI0002",
        tuple(events),
        fix=Message(
            "diagnosis.lost.fix",
            "read the log of {rank} before that moment; without one, check whether its process or server died",
            rank=name,
        ),
        supports=(why,),
        contradicts=tuple(contradicts),
    )


def _host(case: Case, votes: Iterable[Suspect]) -> list[Suspect]:
    """All ranks of the host that has all those named, if none of them was alive later."""
    servers = {suspect.server for suspect in votes}
    members = sorted({*votes, *(suspect for suspect in case.job.everyone if suspect.server in servers)}, key=by_rank)
    is_one = len(servers) == 1 and None not in servers
    return members if is_one and not any(suspect in case.waits.waiting for suspect in members) else []


def _names_itself(named: Sequence[Named], first: Suspect) -> bool:
    return any(rank.suspect == first == suspect for rank, _, suspect, _ in named)


def _heard_first(case: Case) -> Iterator[Named]:
    """What each process hears first, of the highest priority, and what follows so soon that the order tells nothing.

    The time of a conclusion of HCCL is that of the event that it rests on.
    """
    for rank in case.job.ranks:
        beats = [(event, event.fact) for event in rank.events if isinstance(event.fact, Heartbeat)]
        beats = [(event, fact) for event, fact in beats if _precedes_failures(case, rank, event, fact)]
        status = min((fact.status for _, fact in beats), key=_PRIORITY.index, default=None)
        heard = [(_heard_at(event, fact), event, fact) for event, fact in beats if fact.status == status]
        first = min((time for time, *_ in heard), default=inf)
        culprits = {_culprit(case, rank, fact): (event, fact) for time, event, fact in heard if time <= first + SILENCE}
        for culprit, (event, fact) in culprits.items():
            yield rank, event, culprit, fact


def _heard_at(event: Event, fact: Heartbeat) -> float:
    time = fact.arrival if fact.is_verdict and fact.arrival is not None else event.time
    return inf if time is None else time


def _precedes_failures(case: Case, rank: Rank, event: Event, fact: Heartbeat) -> bool:
    """Whether it was heard before any rank failed, as far as clocks can be compared.

    When a job without a failure ended is not known. HCCL draws its own conclusion when an operator has failed,
    so that only the time in it counts.
    """
    worker = case.job.clock[rank.process]
    time = fact.arrival if fact.is_verdict else event.time
    if fact.is_verdict and time is None:
        return _culprit(case, rank, fact) not in case.waits.waiting or not case.waits.waiting
    if not case.failures:
        return fact.is_verdict or _culprit(case, rank, fact) in case.job.by_suspect
    failure = case.failures.get(worker, inf)
    corrected = case.clocks.corrected(worker, time)
    if time is None or corrected is None:
        return time is not None and time + SILENCE < failure < inf
    first, last = case.span
    return (
        time < failure
        and corrected + (MARGIN if len(case.failures) > 1 else 0.0) < first
        and corrected + SILENCE < last
    )


def _culprit(case: Case, rank: Rank, fact: Heartbeat) -> Suspect:
    by_card = case.job.at_card(fact.culprit)
    if by_card.rank is None and fact.culprit_rank is not None:
        return case.job.in_group(rank, fact.culprit_rank, None, fact.reporter_rank) or by_card
    return by_card
