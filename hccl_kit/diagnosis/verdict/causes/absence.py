"""What is missing: the only rank whose log has no error."""

from __future__ import annotations

from hccl_kit.diagnosis.facts import Progress, RootCreated, RootSilent
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, cannot_tell, listed, missing_logs, named
from hccl_kit.diagnosis.verdict.job import Rank

ENOUGH = 3
"""Number of ranks that gave up at the root, from which on the one that did not is named although logs are missing."""


def alone_without_error(case: Case) -> Cause | None:
    """All ranks that left a log report a timeout but one, which never took part."""
    quiet, others = case.without_error, [rank for rank in case.job.ranks if rank.suspect in case.waits.waiting]
    if not others or (case.waits.targets and not _only_at_root(case)):
        return None
    suspects = [rank.suspect for rank in quiet]
    if len(quiet) != 1:
        return cannot_tell(f"{listed(suspects)} report no error", suspects) if quiet else None
    (rank,) = quiet
    is_root = any(isinstance(event.fact, RootCreated) for event in rank.events) or 0 in rank.groups.values()
    if is_root and any(isinstance(event.fact, RootSilent) for other in others for event in other.events):
        return cannot_tell(f"{named(rank.suspect)}, the root, reports no error, but it waits for the others", suspects)
    missing = missing_logs(case.job)
    if doubt := _doubt(case, rank, others, missing):
        return cannot_tell(f"{listed(suspects)} reports no error, but {doubt}", [*suspects, *case.job.silent])
    return Cause(
        "likely",
        "reports no error, all others a timeout",
        (rank.suspect,),
        None,
        tuple(case.waits.waiting[other.suspect] for other in others),
        fix=f"look at what the program of {named(rank.suspect)} did instead of joining the others",
        supports=(f"{len(others)} ranks timed out waiting, this one did not",),
        contradicts=(missing,) if missing else (),
    )


def _doubt(case: Case, rank: Rank, others: list[Rank], missing: str) -> str:
    """Why a rank without an error may not be the one that the others waited for; "" if nothing speaks against it."""
    own, furthest = _last_step(rank), max(map(_last_step, others))
    if own and furthest > own + 1:  # the ranks of a job take each step together
        return f"its log ends in step {own}, and others took step {furthest}: the log is cut"
    # A rank that is connected to the root gives up when all do; one that does not has another reason.
    if missing and not (case.waits.edges and _only_at_root(case) and len(others) >= ENOUGH):
        return missing
    return "only one other rank left a log" if len(others) < 2 else ""


def only_silent(case: Case) -> Cause | None:
    """All ranks that left a log have connected to the root, which waits; one rank, or those of one host, left none."""
    silent, root = case.job.silent, case.job.by_number.get(0)
    servers = {one.server for one in silent}
    if not silent or (len(silent) > 1 and (len(servers) != 1 or None in servers)) or root not in case.job.by_suspect:
        return None
    others = [rank for rank in case.job.ranks if rank.suspect != root]
    if not others or not all(any(isinstance(event.fact, RootSilent) for event in rank.events) for rank in others):
        return None
    return Cause(
        "likely",
        "never joined the communicator, and left no log",
        silent,
        "EI0015",
        tuple(case.waits.waiting[rank.suspect] for rank in others),
        fix=f"find out why {listed(silent)} did not start, or did not get as far as creating the communicator",
        supports=(f"the other {len(others) + 1} ranks are connected",),
    )


def _only_at_root(case: Case) -> bool:
    """Whether all that is known is that the root did not answer, which is because it waits itself."""
    return all(isinstance(edge.event.fact, RootSilent) for edge in case.waits.edges)


def _last_step(rank: Rank) -> int:
    """The last step that a rank printed; 0 if it printed none."""
    return max((event.fact.step for event in rank.events if isinstance(event.fact, Progress)), default=0)
