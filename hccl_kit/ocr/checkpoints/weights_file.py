"""Which weights a program loads: the path of their file, its content and its time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hccl_kit.ocr.checkpoints.fetch import digest_of

SHOWN = 12
"""Digits of the SHA-256 that a line shows."""


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """A file of weights; `sha256` in hexadecimal, `time` when it was changed last, in ISO 8601 with the time zone."""

    path: Path
    sha256: str
    time: str

    @classmethod
    def of(cls, path: Path) -> WeightsFile:
        """The file at `path` as it is now. Raises KitError if it is not a file, or cannot be read."""
        digest = digest_of(path)
        changed = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
        return cls(path, digest, changed.isoformat(" ", "seconds"))

    def __str__(self) -> str:
        return f"weights: {self.path}, SHA-256 {self.short}..., of {self.time}"

    @property
    def short(self) -> str:
        """The first digits of the SHA-256."""
        return self.sha256[:SHOWN]

    def row(self) -> dict[str, str]:
        """The values for JSON."""
        return {"path": str(self.path), "sha256": self.sha256, "time": self.time}
