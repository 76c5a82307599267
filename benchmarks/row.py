"""The common shape of all measurements: a figure of ours beside that of a named peer in the same run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """The figures of ours and of `peer`, in `unit`. Without figures, `missing` says why."""

    what: str
    peer: str
    unit: str = ""
    ours: float | None = None
    peers: float | None = None
    missing: str = ""

    @property
    def ratio(self) -> float | None:
        """Our figure divided by the peer's. For times and memory less is better, for rates more."""
        return self.ours / self.peers if self.ours is not None and self.peers else None
