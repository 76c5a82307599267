"""What differs between ranks: what HCCL itself compares (arguments, releases), and variables that must be equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined
from hccl_kit.diagnosis.facts import ArgumentMismatch, Event, VersionMismatch
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, by_rank, cannot_tell, verdict
from hccl_kit.diagnosis.verdict.causes.links import CONNECT_TIMEOUT, LINK_FACTS
from hccl_kit.diagnosis.verdict.causes.operators import SAME_OPERATORS
from hccl_kit.diagnosis.verdict.diagnosis import Suspect
from hccl_kit.diagnosis.verdict.job import holders
from hccl_kit.diagnosis.verdict.names import rank_names

ENOUGH = 3
"""Number of ranks that report the value of the same one, which has left no line: it is linked to all of them."""
Difference = tuple[Suspect, ArgumentMismatch, Suspect | None]
"""A rank, how it differs from another one, and that one, if the line names it."""


def arguments(case: Case) -> Cause | None:
    """The rank with another argument than all with which it was compared (EI0005), or two of which one has it."""
    differing = case.facts(ArgumentMismatch)
    if not differing:
        return None
    by_field: dict[str, list[Difference]] = defaultdict(list)
    for rank, _, fact in differing:
        peer = None if fact.peer_rank is None else case.job.in_group(rank, fact.peer_rank, None, None)
        by_field[fact.field].append((rank.suspect, fact, peer))
    odd = {suspects for differences in by_field.values() if (suspects := _odd(case, differences))}
    everyone = tuple(dict.fromkeys(rank.suspect for rank, *_ in differing))
    events = tuple(event for _, event, _ in differing)
    fact = differing[0][2]
    if len(odd) != 1:
        return cannot_tell(
            "diagnosis.arguments-differ",
            "ranks differ in the {field} of an operator ({own} and {other})",
            everyone,
            events,
            field=fact.field,
            own=fact.own,
            other=fact.other,
        )
    (suspects,) = odd
    return verdict(
        "diagnosis.argument",
        "called an operator with another {field} than the others",
        suspects,
        events,
        code="EI0005",
        hint=SAME_OPERATORS,
        why="{field} was compared: {own} here, {other} there",
        field=fact.field,
        own=fact.own,
        other=fact.other,
    )


def _odd(case: Case, differences: Sequence[Difference]) -> tuple[Suspect, ...]:
    """The rank with the value that is one side of every difference, both ranks if there are only two; else none."""
    owners: dict[str, set[Suspect]] = defaultdict(set)
    for suspect, fact, peer in differences:
        owners[fact.own].add(suspect)
        owners[fact.other].update([peer] if peer else [])
    common = set.intersection(*({fact.own, fact.other} for _, fact, _ in differences))
    few: set[Suspect] = min((owners[value] for value in sorted(common)), key=len, default=set())
    others = set().union(*owners.values()) - few
    if common and not few:
        few = _without_line(case, others)
    if len(few) != 1 or not others:
        return ()
    return tuple(sorted(few if len(others) > 1 else few | others, key=by_rank))


def _without_line(case: Case, others: Set[Suspect]) -> set[Suspect]:
    """The only rank, of the server of all others if that is one, that has not reported how it differs from them."""
    servers = {suspect.server for suspect in others}
    rest = {suspect for suspect in case.job.everyone if suspect not in others}
    if len(servers) == 1:
        rest = {suspect for suspect in rest if suspect.server is None or suspect.server in servers}
    return rest if len(rest) == 1 and len(others) >= ENOUGH and case.job.size is not None else set()


def versions(case: Case) -> Cause | None:
    """Ranks with different releases of HCCL (EI0008)."""
    differing = case.facts(VersionMismatch)
    if not differing:
        return None
    ranks: dict[str | None, set[Suspect]] = defaultdict(set)
    for rank, _, fact in differing:
        ranks[fact.own].add(rank.suspect)
    releases = {release for _, _, fact in differing for release in (fact.own, fact.other) if release}
    events = tuple(event for _, event, _ in differing)
    reported = set().union(*ranks.values())
    cut = {rank.suspect for rank in case.job.ranks if rank.is_cut}
    unheard = (case.unread | cut) - reported  # a cut log may have lost the report
    servers = {suspect.server for suspect in reported} | {None}
    doubtful = {suspect for suspect in unheard if suspect.server in servers}  # they may have the rarer release too
    others = releases - ranks.keys()
    is_one_end = len(ranks) == len(others) == 1 and 0 < len(unheard) < len(reported)  # of all links
    if is_one_end:
        ranks[others.pop()], doubtful = set(unheard), set()
    (odd, few), *rest = sorted(ranks.items(), key=lambda item: len(item[1]))
    if not rest or len(few) + len(doubtful) >= len(rest[-1][1]):
        kind = Message("diagnosis.releases", "run different releases of HCCL")
        if releases:
            kind = Message(
                "diagnosis.named-releases", "{kind}: {releases}", kind=kind, releases=joined(sorted(releases))
            )
        few = reported if rest else set(case.job.everyone)
    else:
        usual, many = rest[-1]
        kind = Message(
            "diagnosis.release",
            "runs HCCL {release}, unlike {number} others with {usual}",
            release=odd or Message("diagnosis.another-release", "of another release"),
            number=len(many),
            usual=usual or Message("diagnosis.another-one", "another one"),
        )
        if is_one_end and len(few) > 1:
            kind = Message("diagnosis.release-of-some", "{kind}, or only some of them do", kind=kind)
    fix = Message(
        "diagnosis.release.fix",
        "install one release of CANN on all servers; `hccl-kit preflight TABLE --all` compares them",
    )
    why = Message("diagnosis.release.why", "HCCL compared the releases of both ends of a link")
    return Cause("likely", kind, tuple(sorted(few, key=by_rank)), "EI0008", events, fix=fix, supports=(why,))


EQUAL = (
    "HCCL_ALGO",
    "HCCL_BUFFSIZE",
    "HCCL_INTER_HCCS_DISABLE",
    "HCCL_INTRA_PCIE_ENABLE",
    "HCCL_INTRA_ROCE_ENABLE",
    "HCCL_OP_EXPANSION_MODE",
    "HCCL_RDMA_QPS_PER_CONNECTION",
    CONNECT_TIMEOUT,
)
"""They decide with whom a rank connects, how and how long (HCCL's pages of its variables, CANN 8.0 to 9.1)."""


class _Odd(NamedTuple):
    """A variable with another value on few ranks than on most; the values as logs print them."""

    name: str
    value: str
    usual: str
    few: Mapping[Suspect, Event]
    many: Mapping[Suspect, Event]


def settings(case: Case) -> Cause | None:
    """Ranks with another value of a variable than most, if every link that was not set up has one of them at an end.

    A variable that differs need not break a job: links between other ranks speak against it.
    """
    for odd in _differences(case):
        involved = [edge for edge in case.waits.edges if isinstance(edge.event.fact, LINK_FACTS) and edge.target]
        if not involved or len(involved) < len([edge for edge in case.waits.edges if edge.target]):
            return None
        shorter = odd.name != CONNECT_TIMEOUT or _seconds(odd.value) < _seconds(odd.usual)
        waiting = all(suspect in case.waits.waiting for suspect in odd.few)
        if not (shorter and waiting and all(edge.source in odd.few or edge.target in odd.few for edge in involved)):
            continue
        events = (*tuple(odd.few.values())[:4], next(iter(odd.many.values())), *(edge.event for edge in involved[:4]))
        value, usual = _shown(odd.value), _shown(odd.usual)
        if len(odd.few) == len(odd.many):
            return cannot_tell(
                "diagnosis.setting-half",
                "{name} is {value} on {ranks} and {usual} on the others",
                (*odd.few, *odd.many),
                events,
                name=odd.name,
                value=value,
                ranks=rank_names(odd.few),
                usual=usual,
            )
        return verdict(
            "diagnosis.setting",
            "has {name} {value}, unlike {number} others with {usual}",
            odd.few,
            events,
            code=involved[0].code,
            fix="set {name} to the same value on all ranks; `hccl-kit env TABLE --check LOG` compares them",
            why="every link that was not set up has such a rank at one end",
            name=odd.name,
            value=value,
            number=len(odd.many),
            usual=usual,
        )
    return None


def _differences(case: Case) -> list[_Odd]:
    """The variables of EQUAL with two values, the rarer first."""
    values = holders(case.compared, EQUAL)
    differing = []
    for name in EQUAL:
        if len(values[name]) == 2:
            (value, few), (usual, many) = sorted(values[name].items(), key=lambda row: (len(row[1]), row[0]))
            if not few.keys() & many.keys():
                differing.append(_Odd(name, value, usual, few, many))
    return differing


def _seconds(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _shown(value: str) -> str:
    return value or Message("diagnosis.unset", "unset")
