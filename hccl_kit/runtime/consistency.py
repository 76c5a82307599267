"""Checks across all ranks, and the error that every rank raises.

Without them, ranks with different configurations would train different networks silently.
"""

from __future__ import annotations

from collections.abc import Sequence

from hccl_kit.base.errors import KitError


class JointError(KitError):
    """An error that every rank raises at the same place, so that no rank has to end before the others."""


def assert_identical(
    digests: Sequence[str],
    hosts: Sequence[str] | None = None,
    *,
    what: str = "configuration",
    hint: str = "start all ranks with the same --config, -o options and files",
    shown: bool = False,
) -> None:
    """Raises JointError if a rank has another digest of `what` than rank 0.

    The message names the two ranks with their `hosts`, and with `shown` both digests.
    """
    different = [rank for rank, digest in enumerate(digests) if digest != digests[0]]
    if not different:
        return
    one, other = (f"rank {rank}" + (f" on {hosts[rank]}" if hosts else "") for rank in (different[0], 0))
    both = f": {digests[different[0]]} and {digests[0]}" if shown else ""
    raise JointError(
        f"{one} has another {what} than {other}{both} ({len(different)} of {len(digests)} ranks differ)", hint=hint
    )
