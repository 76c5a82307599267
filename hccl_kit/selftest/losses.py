"""The faults of single ranks, in words: lost, slow or stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hccl_kit.base.message import Message
from hccl_kit.selftest.faults import Fault, after_colon
from hccl_kit.selftest.measured import Loss, LostRank
from hccl_kit.selftest.names import Names


def slow_card(rank: int, part: float, names: Names) -> Fault:
    """A rank computes slowly."""
    message = Message(
        "selftest.slow-card", "{rank} computes at {part:.0%} of the others' speed", rank=names.rank(rank), part=part
    )
    hint = Message(
        "selftest.slow-card.fix",
        "look at its temperature, clock and other processes: npu-smi info, npu-smi info -t common",
    )
    return Fault("slow-card", (rank,), message, hint)


def stalling(rank: int, part: float, names: Names) -> Fault:
    """The process of a rank was stopped."""
    message = Message(
        "selftest.stalls", "{rank} was stopped by a signal for {part:.0%} of the time", rank=names.rank(rank), part=part
    )
    hint = Message(
        "selftest.stalls.fix", "look for what sends it SIGSTOP: a debugger, a scheduler that suspends jobs, a person"
    )
    return Fault("stalls", (rank,), message, hint)


def lost_ranks(lost: Sequence[LostRank], names: Names) -> Iterator[Fault]:
    """One fault for a server that lost all of its ranks in the same way, otherwise one for each rank."""
    for how, (end, hint) in _LOSSES.items():
        details = {loss.rank: loss.detail for loss in lost if loss.how == how}
        for ranks in names.groups(frozenset(details)):
            detail = next((details[rank] for rank in ranks if details[rank]), "")
            message = Message(
                "selftest.lost",
                "{subject} {end}{reason}",
                subject=names.ranks(ranks),
                end=end,
                reason=after_colon(detail),
            )
            yield Fault("lost", ranks, message, hint)


_LOSSES: dict[Loss, tuple[Message, Message]] = {
    "unreachable": (
        Message("selftest.unreachable", "cannot be reached"),
        Message("selftest.unreachable.fix", "check the server and ssh to it"),
    ),
    "not started": (
        Message("selftest.not-started", "did not start"),
        Message("selftest.not-started.fix", "run the command there by hand to see why"),
    ),
    "dead": (
        Message("selftest.dead", "ended before the end of the test"),
        Message("selftest.dead.fix", "check dmesg of its server for what killed the process, then hccl-kit preflight"),
    ),
    "stopped": (
        Message("selftest.silent", "stopped responding"),
        Message(
            "selftest.silent.fix",
            "look at the process and card of that rank: a stopped process, a hung driver or an overloaded server",
        ),
    ),
    "no result": (
        Message("selftest.without-result", "gave no result"),
        Message(
            "selftest.without-result.fix", "look at its process and card; all servers need the same version of hccl-kit"
        ),
    ),
}
"""How a rank is lost, and the next step; in the order of the report."""
