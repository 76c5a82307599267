"""What is missing: the only rank whose log has no error."""

from __future__ import annotations

from hccl_kit.base.message import Message
from hccl_kit.diagnosis.facts import RootCreated, RootSilent
from hccl_kit.diagnosis.verdict.causes.cause import Case, Cause, by_rank, cannot_tell, unread_logs, verdict
from hccl_kit.diagnosis.verdict.causes.chains import is_elsewhere, words_of_end
from hccl_kit.diagnosis.verdict.causes.rendezvous import NO_LOG, start_of
from hccl_kit.diagnosis.verdict.job import Rank, stated
from hccl_kit.diagnosis.verdict.names import rank_name, rank_names

ENOUGH = 3
"""Number of ranks that gave up, from which on the one that did not is named although logs are missing."""


def alone_without_error(case: Case) -> Cause | None:
    """All ranks that left a log report a timeout but one, which never took part; or all whose log is whole."""
    quiet, others = case.without_error, [rank for rank in case.job.ranks if rank.suspect in case.waits.waiting]
    if not others or case.waits.targets:
        return None
    suspects = [rank.suspect for rank in quiet]
    ranks = rank_names(suspects)
    if not quiet:
        return _only_unread(case, others)
    if len(quiet) != 1:
        return cannot_tell("diagnosis.quiet", "{ranks} report no error", suspects, ranks=ranks)
    (rank,) = quiet
    is_root = bool(stated([rank], RootCreated)) or 0 in rank.groups.values()
    if is_root and stated(others, RootSilent):
        return cannot_tell(
            "diagnosis.quiet-root",
            "{rank}, the root, reports no error, but it waits for the others",
            suspects,
            rank=rank_name(rank.suspect),
        )
    missing = unread_logs(case)
    if doubt := _doubt(case, others, missing):
        either = [*suspects, *sorted(case.unread, key=by_rank)]
        return cannot_tell(
            "diagnosis.quiet-doubt", "{rank} reports no error, but {doubt}", either, rank=ranks, doubt=doubt
        )
    return verdict(
        "diagnosis.only-quiet",
        "reports no error, all others a timeout",
        suspects,
        [case.waits.waiting[other.suspect] for other in others],
        fix="look at what the program of {rank} did instead of joining the others",
        why="{number} ranks timed out waiting, this one did not",
        contradicts=[missing],
        rank=rank_name(rank.suspect),
        number=len(others),
    )


def _only_unread(case: Case, others: list[Rank]) -> Cause | None:
    """All ranks gave up, but for the only one whose log is lost; what the others were in is in whole logs."""
    if (
        len(case.job.silent) != 1
        or len(others) < max(ENOUGH, len(case.job.ranks))
        or any(rank.is_cut for rank in others)
        or is_elsewhere(case)
    ):
        return None
    (suspect,) = case.job.silent
    kind, fix = words_of_end(case, suspect, None)
    return Cause("likely", kind, (suspect,), None, tuple(case.waits.waiting.values()), fix=fix)


def _doubt(case: Case, others: list[Rank], missing: str) -> str:
    """Why a rank without an error may not be the one that the others waited for; "" if nothing speaks against it."""
    # A rank that is connected to the root gives up when all do; one that does not has another reason.
    at_root = bool(case.waits.edges) and all(isinstance(edge.event.fact, RootSilent) for edge in case.waits.edges)
    if missing and not (len(others) >= ENOUGH and (at_root or not any(rank.is_cut for rank in case.job.ranks))):
        return missing
    return Message("diagnosis.quiet-alone", "only one other rank left a log") if len(others) < 2 else ""


def only_silent(case: Case) -> Cause | None:
    """All ranks that left a log have connected to the root, which waits; one rank, or those of one host, left none."""
    silent, root = case.job.silent, case.job.by_number.get(0)
    servers = {suspect.server for suspect in silent}
    if not silent or (len(silent) > 1 and (len(servers) != 1 or None in servers)) or root not in case.job.by_suspect:
        return None
    others = [rank for rank in case.job.ranks if rank.suspect != root]
    if not others or not all(stated([rank], RootSilent) for rank in others):
        return None
    why = Message("diagnosis.others-joined", "the other {number} ranks are connected", number=len(others) + 1)
    events = tuple(case.waits.waiting[rank.suspect] for rank in others)
    return Cause("likely", NO_LOG, silent, "EI0015", events, fix=start_of(silent), supports=(why,))
