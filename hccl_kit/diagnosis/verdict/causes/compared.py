"""What HCCL itself compares between two ranks: the arguments of an operator, and releases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set

from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined
from hccl_kit.diagnosis.facts import ArgumentMismatch, VersionMismatch
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, by_rank, cannot_tell, verdict
from hccl_kit.diagnosis.verdict.causes.operators import SAME_OPERATORS
from hccl_kit.diagnosis.verdict.diagnosis import Suspect

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
    events = tuple(event for _, event, _ in differing)
    (odd, few), *rest = sorted(ranks.items(), key=lambda item: len(item[1]))
    reported = set().union(*ranks.values())
    servers = {suspect.server for suspect in reported} | {None}
    # The few that report a release may be most of those that have it; a cut log may have lost the report.
    cut = {rank.suspect for rank in case.job.ranks if rank.is_cut}
    unknown = {suspect for suspect in (case.unread | cut) - reported if suspect.server in servers}
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
