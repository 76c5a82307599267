"""What HCCL itself compares between two ranks: the arguments of an operator, and releases."""

from __future__ import annotations

from collections import defaultdict

from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined
from hccl_kit.diagnosis.facts import ArgumentMismatch, VersionMismatch
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, by_rank, cannot_tell, verdict
from hccl_kit.diagnosis.verdict.causes.operators import SAME_OPERATORS
from hccl_kit.diagnosis.verdict.diagnosis import Suspect


def arguments(case: Case) -> Cause | None:
    """Ranks that HCCL itself found to differ (EI0005)."""
    differing = case.facts(ArgumentMismatch)
    if not differing:
        return None
    values: dict[str, set[Suspect]] = defaultdict(set)
    for rank, _, fact in differing:
        values[fact.own].add(rank.suspect)
        if fact.peer_rank is not None and (peer := case.job.in_group(rank, fact.peer_rank, None, None)):
            values[fact.other].add(peer)
    events = tuple(event for _, event, _ in differing)
    everyone = list(dict.fromkeys(suspect for members in values.values() for suspect in members))
    by_count = sorted(values.values(), key=len)
    fact = differing[0][2]
    if len(by_count) == 2 and len(by_count[0]) == 1 and len(by_count[1]) > 1:
        suspects: tuple[Suspect, ...] = tuple(by_count[0])
    elif len(by_count) == 2 and len(everyone) == 2:  # of two that agree, the third that differs left no such line
        suspects = tuple(everyone)
    else:
        return cannot_tell(
            "diagnosis.arguments-differ",
            "ranks differ in the {field} of an operator ({own} and {other})",
            everyone,
            events,
            field=fact.field,
            own=fact.own,
            other=fact.other,
        )
    return verdict(
        "diagnosis.argument",
        "called an operator with another {field} than the others",
        suspects,
        events,
        code="EI0005",
        hint=SAME_OPERATORS,
        why="HCCL compared {field}: {own} here, {other} there",
        field=fact.field,
        own=fact.own,
        other=fact.other,
    )


def versions(case: Case) -> Cause | None:
    """Ranks with different releases of HCCL (EI0008)."""
    differing = case.facts(VersionMismatch)
    if not differing:
        return None
    ranks: dict[str | None, set[Suspect]] = defaultdict(set)
    for rank, _, fact in differing:
        ranks[fact.own].add(rank.suspect)
    events = tuple(event for _, event, _ in differing)
    (odd, few), *rest = sorted(ranks.items(), key=lambda item: len(item[1]))
    reported = set().union(*ranks.values())
    servers = {suspect.server for suspect in reported} | {None}
    # The few that report a release may be most of those that have it.
    unknown = {suspect for suspect in case.unread - reported if suspect.server in servers}
    if not rest or len(few) + len(unknown) >= len(rest[-1][1]):
        kind = Message("diagnosis.releases", "run different releases of HCCL")
        if releases := sorted(
            {str(release) for _, _, fact in differing for release in (fact.own, fact.other) if release}
        ):
            kind = Message("diagnosis.named-releases", "{kind}: {releases}", kind=kind, releases=joined(releases))
        few = reported if rest else reported | unknown
    else:
        usual, many = rest[-1]
        kind = Message(
            "diagnosis.release",
            "runs HCCL {release}, unlike {number} others with {usual}",
            release=odd or Message("diagnosis.another-release", "of another release"),
            number=len(many),
            usual=usual or Message("diagnosis.another-one", "another one"),
        )
    fix = Message(
        "diagnosis.release.fix",
        "install one release of CANN on all servers; `hccl-kit preflight TABLE --all` compares them",
    )
    why = Message("diagnosis.release.why", "HCCL compared the releases of both ends of a link")
    return Cause("likely", kind, tuple(sorted(few, key=by_rank)), "EI0008", events, fix=fix, supports=(why,))
