"""Outputs of a reference implementation; README.md has where they come from and what each array holds."""

from pathlib import Path
from typing import Any

import numpy as np

REFERENCE = Path(__file__).parent


def reference_arrays(name: str) -> dict[str, Any]:
    """The arrays of an npz file."""
    with np.load(REFERENCE / name, allow_pickle=False) as stored:
        return dict(stored)
