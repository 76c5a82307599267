"""What all ranks find out together: an error that each of them raises, and the first reason for one.

Ranks with different configurations would train different things without a word.
"""

from __future__ import annotations

from collections.abc import Sequence

from hccl_kit.base.errors import KitError


class JointError(KitError):
    """Every rank raises it, at the same place; so none needs to leave before the others are done."""


def assert_identical(
    digests: Sequence[str],
    hosts: Sequence[str] | None = None,
    *,
    what: str = "configuration",
    hint: str = "start all ranks with the same --config, -o options and files",
    shown: bool = False,
) -> None:
    """JointError says which rank has another digest of `what` than rank 0, with the host of each where `hosts` are
    known, and with both digests where they are to be `shown`.
    """
    different = [rank for rank, digest in enumerate(digests) if digest != digests[0]]
    if not different:
        return
    one, other = (f"rank {rank}" + (f" on {hosts[rank]}" if hosts else "") for rank in (different[0], 0))
    both = f": {digests[different[0]]} and {digests[0]}" if shown else ""
    raise JointError(
        f"{one} has another {what} than {other}{both} ({len(different)} of {len(digests)} ranks differ)", hint=hint
    )
