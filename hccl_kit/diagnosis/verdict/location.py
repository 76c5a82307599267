"""Where a cause is: at one rank, at a host, between two ranks, at a group of ranks, or at all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hccl_kit.diagnosis.verdict.diagnosis import Suspect, Where


def where(suspects: Sequence[Suspect], everyone: Iterable[Suspect]) -> Where:
    """What all the suspects of a cause are together, in a job of these ranks."""
    if len(suspects) == 1:
        (only,) = suspects
        return "host" if only.rank is None and only.device is None and only.server is not None else "rank"
    everyone = set(everyone)
    if everyone <= set(suspects):
        return "all"
    servers = {suspect.server for suspect in suspects}
    if (
        len(servers) == 1
        and None not in servers
        and {suspect for suspect in everyone if suspect.server in servers} <= set(suspects)
    ):
        return "host"
    return "pair" if len(suspects) == 2 else "group"
