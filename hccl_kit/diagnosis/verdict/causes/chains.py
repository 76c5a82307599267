"""The ends of the chains of waits, and servers that no chain crosses."""

from __future__ import annotations

from collections import defaultdict

from hccl_kit.base.message import Message
from hccl_kit.base.wording import sentences
from hccl_kit.diagnosis.facts import OperatorTimedOut
from hccl_kit.diagnosis.verdict.causes.cause import (
    Case,
    Cause,
    by_rank,
    cannot_tell,
    missing_log,
    missing_logs,
    verdict,
)
from hccl_kit.diagnosis.verdict.causes.links import LINK_FACTS, MARGIN, broken_servers, of_servers, timeout
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.job import Rank
from hccl_kit.diagnosis.verdict.names import rank_name, rank_names
from hccl_kit.diagnosis.verdict.waits import Edge

ENOUGH = 3
"""Number of ranks that wait for the same one: fewer may be a chain whose other end is in a lost log."""


def cut_off(case: Case) -> Cause | None:
    """The server whose ranks and all others wait for each other, while the others do not wait among themselves."""
    crossing, servers = _crossing(case)
    common = broken_servers((min(pair), max(pair)) for pair in crossing)
    if not common or (len(common) == 2 and any(end in case.job.by_suspect for end in case.waits.ends)):
        return None
    if any(rank.is_cut or rank.card.server is None for rank in case.job.ranks):
        return None  # The lost part of a log may have had a link within the server, or the server of a rank.
    if len(common) == 1:
        (server,) = common
        waiting = {edge.source for edge in case.waits.edges} & servers[server]
        if len(waiting) < 2 or len(waiting) * 2 < sum(suspect.server == server for suspect in case.job.everyone):
            return None
    return of_servers(case, common, [edge.event for edge in case.waits.edges if edge.target is not None])


def _crossing(case: Case) -> tuple[set[frozenset[str]], dict[str, set[Suspect]]]:
    """Pairs of servers with broken links, and the ranks at their ends; nothing if a broken link is within a server."""
    pairs: set[frozenset[str]] = set()
    servers: dict[str, set[Suspect]] = defaultdict(set)
    for edge in _proofs(case):
        if edge.target is None or edge.source.server is None or edge.target.server is None:
            return set(), {}
        if edge.source.server == edge.target.server or edge.code != "EI0006":
            return set(), {}
        pairs.add(frozenset((edge.source.server, edge.target.server)))
        for suspect in (edge.source, edge.target):
            servers[str(suspect.server)].add(suspect)
    return pairs, servers


def _proofs(case: Case) -> list[Edge]:
    """Waits for links; those of lines without a rank repeat what the table of links says."""
    edges = (edge for edge in case.waits.edges if edge.may_be_cause)
    return [edge for edge in edges if edge.target is not None or edge.code == "EI0006"]


def chain(case: Case) -> Cause | None:
    """The rank at the end of all chains of waits."""
    ends = case.waits.ends
    if not ends:
        return None
    edges = [edge for edge in case.waits.edges if edge.target in ends]
    events = [edge.event for edge in edges]
    if central := _central(case):
        ends = frozenset({central})
    if len(ends) > 1:
        if host := silent_host(case):
            return host
        suspects = sorted(ends, key=str)
        reason = Message("diagnosis.chains-end", "the chains of waits end at {ranks}", ranks=rank_names(suspects))
        return cannot_tell(sentences([reason, missing_logs(case.job)]), None, suspects, events)
    (end,) = ends
    rank = case.job.by_suspect.get(end)
    if doubt := _doubt(case, end, rank):
        return cannot_tell(doubt, None, [end], events)
    kind, fix = words_of_end(case, end, rank)
    number = len(case.waits.targets)
    return Cause(
        "likely",
        kind,
        (end,),
        edges[0].code,
        tuple(events),
        fix=fix,
        supports=(Message("diagnosis.end-of-chains", "all chains of waits end there ({number} ranks)", number=number),),
        contradicts=(missing_logs(case.job),) if case.job.silent and rank is not None else (),
    )


def _central(case: Case) -> Suspect | None:
    """Of several ends, the only one that many ranks wait for, if all others may themselves have waited for it.

    These have lost or cut logs. If such an end were at fault, those that wait for the central one waited for it too.
    """
    central = {end for end in case.waits.ends if len(case.waits.sources[end]) >= ENOUGH}
    quiet = {rank.suspect for rank in case.without_error}
    return min(central, key=by_rank) if len(central) == 1 and case.waits.ends & quiet <= central else None


def silent_host(case: Case) -> Cause | None:
    """All ranks that do not wait are on one host, and all others wait."""
    waiting = case.waits.waiting
    others = [suspect for suspect in case.job.everyone if suspect not in waiting]
    servers = {suspect.server for suspect in others}
    if len(others) < 2 or len(servers) != 1 or None in servers or case.waits.rings or not waiting:
        return None
    (server,) = servers
    if case.job.size is None or any(suspect.server is None for suspect in case.job.everyone):
        return None
    if any(suspect.server == server for suspect in waiting):
        return None  # some of its ranks do wait, so that it is not all of the host
    if server not in {rank.card.server for rank in case.job.ranks} and is_elsewhere(case):
        return None
    members = sorted((suspect for suspect in case.job.everyone if suspect.server == server), key=by_rank)
    return verdict(
        "diagnosis.silent-host",
        "stopped taking part: none of its ranks waits, and those of all other hosts do",
        members,
        list(waiting.values())[:8],
        code="EI0002",
        fix="see whether {server} is up (`last -x reboot`), whether its pod was evicted, and what its launcher says",
        why="all {number} ranks of other hosts wait",
        contradicts=[missing_logs(case.job)],
        server=server,
        number=len(waiting),
    )


def is_elsewhere(case: Case) -> bool:
    """Whether logs speak against a rank that left none: beside what they show, the absence of a log tells nothing.

    A rank waits for one that its log names and nothing identifies; or it gave up so long after another one of its
    server that it was late itself.
    """
    times: dict[str, list[float]] = defaultdict(list)
    for rank in case.job.ranks:
        event = case.waits.waiting.get(rank.suspect)
        if event is not None and event.time is not None and isinstance(event.fact, LINK_FACTS):
            times[case.job.clock[rank.process]].append(event.time)
    is_late = any(max(of_clock) - min(of_clock) > timeout(case) + MARGIN for of_clock in times.values())
    return case.waits.names_unknown or is_late


def _doubt(case: Case, end: Suspect, rank: Rank | None) -> str:
    """Why the end of the chains may be a victim; "" if nothing suggests that.

    A rank without a log, with a cut one, or that was ended early may itself have waited for a rank whose log is lost.
    If all wait for it directly, they would also wait for the other one.
    """
    if not case.waits.all_lead_to(end) and end != _central(case):
        return Message("diagnosis.not-awaited-by-all", "not all ranks wait for {rank}", rank=rank_name(end))
    direct = len(case.waits.sources[end])
    is_central = direct >= max(ENOUGH, len(case.waits.targets))
    if rank is None:
        quiet = any(other.suspect != end for other in case.without_error)
        if len(case.job.silent) > 1 or quiet or case.job.size is None or direct < ENOUGH or is_elsewhere(case):
            return missing_logs(case.job) or missing_log(end)
        return ""
    gave_up, is_inside = end in case.waits.waiting, end in case.waits.inside
    if not is_inside and (gave_up or (rank.is_cut and not is_central)):
        return Message(
            "diagnosis.no-target", "the log of {rank} does not show which rank it waited for", rank=rank_name(end)
        )
    if (
        direct == 1
        and not gave_up
        and all(isinstance(edge.event.fact, OperatorTimedOut) for edge in case.waits.edges_to(end))
    ):
        return Message(
            "diagnosis.awaited-by-one",
            "only one rank waits for {rank}, whose log may end before its own timeout",
            rank=rank_name(end),
        )
    return missing_logs(case.job) if case.job.silent and not is_central else ""


def words_of_end(case: Case, end: Suspect, rank: Rank | None) -> tuple[str, str]:
    """What is known of the rank that all others wait for, None without a log, and the next step."""
    name = rank_name(end)
    if rank is None:
        return (
            Message("diagnosis.awaited-silent", "left no log, and all others wait for it"),
            Message("diagnosis.awaited-silent.fix", "see whether {rank} was started, and why it ended", rank=name),
        )
    if end in case.waits.inside:
        return (
            Message("diagnosis.own-task", "waited for another task of its own card, and all others wait for it"),
            Message(
                "diagnosis.own-task.fix",
                "see earlier errors in the log of {rank}, and the state of its card: `npu-smi info`",
                rank=name,
            ),
        )
    if rank.is_cut:
        return (
            Message("diagnosis.awaited-cut", "has a cut log, and all others wait for it"),
            Message("diagnosis.awaited-cut.fix", "see what {rank} printed last, and why it stopped", rank=name),
        )
    return (
        Message("diagnosis.awaited", "never entered the operator that all others wait in"),
        Message(
            "diagnosis.awaited.fix",
            "look at what the program of {rank} does: `py-spy dump --pid {pid}` while it hangs",
            rank=name,
            pid=rank.process.pid,
        ),
    )
