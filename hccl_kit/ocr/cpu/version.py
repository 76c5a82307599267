"""The versions of MindSpore and of its oneDNN whose private interfaces this folder uses.

Those are the virtual functions of a thread pool, the enumerations of oneDNN's C interface, which are declared in
operators.cpp, and MindSpore's cache of compiled graphs. With other versions they may mean something else.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
from pathlib import Path

from hccl_kit.base.errors import KitError

MINDSPORE = "2.10.0"
ONEDNN = (3, 10)


class _Version(ctypes.Structure):
    """The beginning of `dnnl_version_t`."""

    _fields_ = (("major", ctypes.c_int), ("minor", ctypes.c_int))


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


def assert_onednn(path: Path) -> None:
    """Raises KitError if the library at `path` is not the oneDNN whose interface operators.cpp declares."""
    try:
        version = ctypes.CDLL(str(path)).dnnl_version
    except (OSError, AttributeError) as error:
        raise KitError("cpu.onednn-not-loaded", "{path} cannot be loaded: {reason}", path=path, reason=error) from error
    version.restype = ctypes.POINTER(_Version)
    onednn = version().contents
    if (onednn.major, onednn.minor) != ONEDNN:
        raise KitError(
            "cpu.other-onednn",
            "the operators are made for oneDNN {made_for}, and MindSpore has {major}.{minor}",
            made_for=".".join(map(str, ONEDNN)),
            major=onednn.major,
            minor=onednn.minor,
        )
