"""Which process a log belongs to, by its name and its folder.

The worker is what stands for a host or a container: the folder above the folders of the log's own layout (debug, run,
plog, device-N, process_log). The pid is that of the file's name, which is the host's, also for logs of the card.
"""

from __future__ import annotations

import re
from pathlib import Path

from hccl_kit.diagnosis.logs.facts import Process

_OWN = re.compile(r"debug|run|plog|device-[0-9]{1,6}|process_log|security|operation")
_NAME = re.compile(r"(?:plog|device)-(?:parser-)?([0-9]{1,10})[_-][0-9]{1,20}\.log(?:\.gz)?")


def process_of(path: Path) -> Process:
    """The process of a log."""
    found = _NAME.fullmatch(path.name)
    folders = list(path.absolute().parts[1:-1])
    while len(folders) > 1 and _OWN.fullmatch(folders[-1]):
        folders.pop()
    return Process(folders[-1] if folders else "", int(found[1]) if found else None)
