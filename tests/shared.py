"""Reference data that lies beside the project on its makers' machines; without it the tests that ask are skipped."""

from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT

SHARED = ROOT.parent / "shared"


def shared(*parts: str) -> Path:
    """A file or folder of it."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs the reference data shared/{'/'.join(parts)}")
    return path


def fixture(name: str) -> Any:
    """The arrays of `fixtures/NAME`, an npz of plain numbers."""
    import numpy as np  # noqa: PLC0415  # tests of the launch wing run without numpy

    with np.load(shared("fixtures", name), allow_pickle=False) as arrays:
        return dict(arrays)
