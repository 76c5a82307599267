"""The version of MindSpore whose private interfaces this folder uses, and those of its oneDNN.

Those are the virtual functions of a thread pool, the enumerations of oneDNN's C interface (3.10), which are declared in
operators.cpp, and MindSpore's cache of compiled graphs. In other versions they may mean something else.
"""

from __future__ import annotations

import importlib.metadata

from hccl_kit.base.errors import KitError

MINDSPORE = "2.10.0"


def installed() -> str:
    """The version of MindSpore."""
    return importlib.metadata.version("mindspore")


def assert_mindspore() -> None:
    """Raises KitError if another MindSpore is installed than the one whose private interfaces are used."""
    if installed() != MINDSPORE:
        raise KitError(
            "cpu.other-mindspore",
            "the operators are made for MindSpore {made_for}, and {installed} is installed",
            made_for=MINDSPORE,
            installed=installed(),
        )
