"""Folders that are expensive to fill, shared by the workers of pytest-xdist."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def filled_once(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], None]) -> Path:
    """The folder `name` of this test run: the first worker fills it, the others wait for it.

    Tests must not write into it. If `fill` raises, the next worker tries again in a new folder.
    """
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    place = shared / f"{name}.filled"
    with (shared / f"{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            folder = factory.mktemp(name) / name
            fill(folder)
            place.write_text(str(folder), encoding="utf-8")
    return Path(place.read_text(encoding="utf-8"))
