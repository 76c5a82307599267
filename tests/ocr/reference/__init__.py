"""Outputs of a reference implementation; README.md describes their origin and each array."""

from pathlib import Path
from typing import Any

import numpy as np

REFERENCE = Path(__file__).parent


def reference_arrays(name: str) -> dict[str, Any]:
    """The arrays of an npz file."""
    with np.load(REFERENCE / name, allow_pickle=False) as stored:
        return dict(stored)
