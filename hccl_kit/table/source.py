"""Where the text of a table comes from: the limits of its size, and its name."""

from __future__ import annotations

MAX_BYTES = 256 << 20
"""The limit of this program; a table of a million devices fits."""
MAX_CONTAINERS = 16 << 20
"""The limit of objects and arrays in one document: their memory is many times their bytes."""
HCCL_MAX_BYTES = 40 << 20
"""The limit of HCCL for versions 1.x (R4)."""
STDIN = "<stdin>"
"""The name of a document that has no path."""


def is_name_for_hccl(name: str) -> bool:
    """Whether HCCL accepts the path: its first ".json" must be its end (R2)."""
    return name == STDIN or 0 <= name.find(".json") == len(name) - len(".json")
