"""Checks across all ranks, and the error that every rank raises.

Without them, ranks with different configurations would train different networks silently.
"""

from __future__ import annotations

from collections.abc import Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message


class JointError(KitError):
    """An error that every rank raises at the same place, so that no rank has to end before the others."""


def assert_identical(
    digests: Sequence[str],
    hosts: Sequence[str] | None = None,
    *,
    what: str = "configuration",
    hint: str = Message("runtime.other-digest.fix", "start all ranks with the same --config, -o options and files"),
    shown: bool = False,
) -> None:
    """Raises JointError if a rank has another digest of `what` than rank 0.

    The message names the two ranks with their `hosts`, and with `shown` both digests.
    """
    different = [rank for rank, digest in enumerate(digests) if digest != digests[0]]
    if not different:
        return
    rank, other = (_rank(number, hosts) for number in (different[0], 0))
    digest, wanted = digests[different[0]], digests[0]
    raise JointError(
        Message(
            "runtime.other-digest",
            "{rank} has another {what} than {other}{digests} ({number} of {ranks} ranks differ)",
            rank=rank,
            what=what,
            other=other,
            digests=Message("runtime.digests", ": {digest} and {wanted}", digest=digest, wanted=wanted)
            if shown
            else "",
            number=len(different),
            ranks=len(digests),
        ),
        hint=hint,
    )


def _rank(number: int, hosts: Sequence[str] | None) -> Message:
    if hosts:
        return Message("runtime.rank-on-host", "rank {rank} on {host}", rank=number, host=hosts[number])
    return Message("runtime.rank", "rank {rank}", rank=number)
