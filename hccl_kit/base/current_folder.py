"""Keeps the programs that this one starts out of the current folder, where another user may have put files."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

from hccl_kit.base.message import Message

NAMES = ("PATH", "PYTHONPATH")
"""Lists of folders, in which an empty or relative part means the current one."""
NOTE = Message(
    "base.current-folder",
    "note: PATH has an empty or relative part, the current folder; no programs are taken from there",
)


def leave_out(environ: MutableMapping[str, str]) -> list[str]:
    """Remove the empty and the relative parts from NAMES; returns which of these had some."""
    changed = []
    for name in NAMES:
        parts = environ.get(name, "").split(os.pathsep)
        kept = [part for part in parts if part.startswith("/")]
        if parts not in (kept, [""]):
            environ[name] = os.pathsep.join(kept) or (os.defpath if name == "PATH" else "")
            changed.append(name)
    return changed
