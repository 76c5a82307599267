"""HK6: the system limits for the ranks of this server."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

from hccl_kit.check.rule import Rule
from hccl_kit.preflight.node import Node
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding

SHM_PER_CARD = 256 << 20
"""Bytes of /dev/shm: a data loader of 8 processes keeps two batches of 16 MiB each there."""
FILES = 4096
"""Open files of a rank: libraries, samples and logs; and up to four connections to each peer."""
FILES_PER_PEER = 4
THREADS_PER_CARD = 512
"""Threads of a rank: a framework starts a few hundred for the operators it compiles, the data loader its own."""
LOCKED = 64 << 20
"""Bytes that a rank needs to lock for RDMA between servers; the limit of many systems is 64 KiB or 8 MiB."""
LOG_SPACE = 1 << 30
"""Bytes of free disk: a failing job of 8 ranks writes some hundred MB of logs."""
_ASCEND_LOGS = "ASCEND_PROCESS_LOG_PATH"


def too_little(node: Node) -> Iterator[Finding]:
    """A system limit is low for the ranks of this server.

    What:           /dev/shm has less than 256 MiB free for each card; `ulimit -n` is below 4096 and 4 for every peer;
                    `ulimit -u` is below 512 for each card; `ulimit -l` is below 64 MiB in a job of several servers;
                    `ulimit -c` lets every rank that crashes write its whole memory to a file.
    Why it matters: data loaders pass batches through /dev/shm (64 MiB in a container by default); connections, threads
                    and memory for RDMA count against the limits.
    Example:        64 MiB of /dev/shm and 8 cards; a loader dies with "Bus error".
    Fix:            docker run --shm-size=8g --ulimit memlock=-1 --ulimit nofile=65536; limits.conf elsewhere.
    HCCL:           no code; EI0007 (resource error) if HCCL lacks the resource.
    """
    cards = max(1, len(node.device_ids))
    yield from _shm(node.root / "dev" / "shm", cards)
    peers = node.table.world_size - 1
    wanted = [
        (
            "n",
            resource.RLIMIT_NOFILE,
            FILES + FILES_PER_PEER * peers,
            f"a rank opens files and up to {FILES_PER_PEER} connections to each of {peers} peers",
        ),
        ("u", resource.RLIMIT_NPROC, THREADS_PER_CARD * cards, f"each of {cards} ranks starts some hundred threads"),
    ]
    if len(node.table.servers) > 1:
        wanted.append(
            ("l", resource.RLIMIT_MEMLOCK, LOCKED >> 10, "RDMA between servers locks the memory it reads and writes")
        )
    for letter, which, least, why in wanted:
        found, _ = resource.getrlimit(which)
        found = found >> 10 if letter == "l" and found != resource.RLIM_INFINITY else found
        if found != resource.RLIM_INFINITY and found < least:
            message = f"ulimit -{letter} is {found}, and {least} is recommended: {why}"
            yield Finding(message, f"ulimit -{letter} {least}, or limits.conf")
    if resource.getrlimit(resource.RLIMIT_CORE)[0] == resource.RLIM_INFINITY and not _core_is_piped(node.root):
        yield Finding("ulimit -c is unlimited: every rank that crashes writes all its memory to a file", "ulimit -c 0")


def disk_full(node: Node) -> Iterator[Finding]:
    """There is little disk space for logs.

    What:           less than 1 GiB is free, or nothing may be written, in the folder of the table, under which the
                    launch script keeps its logs, or in that of the logs of Ascend (ASCEND_PROCESS_LOG_PATH, else
                    ~/ascend/log).
    Why it matters: a rank whose log cannot be written ends, and with it the job; its last messages are lost.
    Example:        /root is full of plog files of old jobs.
    Fix:            clear old logs, or choose another disk: ASCEND_PROCESS_LOG_PATH=/data/log.
    HCCL:           no code.
    """
    home = Path(node.environ.get("HOME") or "/")
    folder = node.path.parent if node.path else Path.cwd()
    for place in dict.fromkeys([folder, Path(node.environ.get(_ASCEND_LOGS) or home / "ascend" / "log")]):
        there = next((one for one in (place, *place.parents) if _is_folder(one)), Path("/"))
        if not os.access(there, os.W_OK | os.X_OK, effective_ids=True):
            message = f"no log can be written into {shown(str(place))}: this user may not write there"
            yield Finding(message, "choose another folder")
            continue
        free = shutil.disk_usage(there).free
        if free < LOG_SPACE:
            message = f"{free >> 20} MiB are free for logs in {shown(str(place))}; {LOG_SPACE >> 20} are recommended"
            yield Finding(message, "clear old logs there")


def _shm(folder: Path, cards: int) -> Iterator[Finding]:
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        message = f"{folder} does not exist; data loaders pass batches through it"
        yield Finding(message, "mount it: docker run --shm-size=8g")
        return
    wanted = SHM_PER_CARD * cards
    if free < wanted:
        yield Finding(
            f"{folder} has {free >> 20} MiB free, and {wanted >> 20} are recommended for {cards} cards: "
            "data loaders pass batches through it",
            f"docker run --shm-size={max(1, wanted >> 30)}g, or clear what old jobs left there",
        )


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # no permission
        return False


def _core_is_piped(root: Path) -> bool:
    """Whether core dumps are piped to a program such as systemd-coredump, which limits their size."""
    try:
        return (root / "proc/sys/kernel/core_pattern").read_text(encoding="utf-8", errors="replace").startswith("|")
    except OSError:
        return False


RULES = (
    Rule("HK613", "low-limit", too_little, severity="warning", kinds=("node",)),
    Rule("HK614", "low-disk-space", disk_full, severity="warning", kinds=("node",)),
)
