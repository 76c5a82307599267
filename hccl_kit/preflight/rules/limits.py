"""HK6: the system limits for the ranks of this server."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

from hccl_kit.base.message import Message
from hccl_kit.check.rule import Rule
from hccl_kit.preflight.node import Node
from hccl_kit.preflight.probes.port_holder import read
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, finding

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
            Message(
                "HK613.files",
                "a rank opens files and up to {connections} connections to each of {peers} peers",
                connections=FILES_PER_PEER,
                peers=peers,
            ),
        ),
        (
            "u",
            resource.RLIMIT_NPROC,
            THREADS_PER_CARD * cards,
            Message("HK613.threads", "each of {ranks} ranks starts some hundred threads", ranks=cards),
        ),
    ]
    if len(node.table.servers) > 1:
        why = Message("HK613.memory", "RDMA between servers locks the memory it reads and writes")
        wanted.append(("l", resource.RLIMIT_MEMLOCK, LOCKED >> 10, why))
    for letter, which, least, why in wanted:
        limit, _ = resource.getrlimit(which)
        if limit == resource.RLIM_INFINITY:
            continue
        limit = limit >> 10 if letter == "l" else limit
        if limit < least:
            yield finding(
                "HK613.ulimit",
                "ulimit -{letter} is {limit}, and {least} is recommended: {why}",
                fix="ulimit -{letter} {least}, or limits.conf",
                letter=letter,
                limit=limit,
                least=least,
                why=why,
            )
    # To a program such as systemd-coredump, which limits their size.
    is_piped = read(node.root / "proc/sys/kernel/core_pattern").startswith("|")
    if resource.getrlimit(resource.RLIMIT_CORE)[0] == resource.RLIM_INFINITY and not is_piped:
        yield finding(
            "HK613.core",
            "ulimit -c is unlimited: every rank that crashes writes all its memory to a file",
            fix="ulimit -c 0",
        )


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
        there = next((folder for folder in (place, *place.parents) if _is_folder(folder)), Path("/"))
        if not os.access(there, os.W_OK | os.X_OK, effective_ids=True):
            message = Message(
                "HK614.not-writable",
                "no log can be written into {folder}: this user may not write there",
                folder=shown(str(place)),
            )
            yield Finding(message, Message("HK614.not-writable.fix", "choose another folder"))
            continue
        free = shutil.disk_usage(there).free
        if free < LOG_SPACE:
            message = Message(
                "HK614.full",
                "{free} MiB are free for logs in {folder}; {least} are recommended",
                free=free >> 20,
                folder=shown(str(place)),
                least=LOG_SPACE >> 20,
            )
            yield Finding(message, Message("HK614.full.fix", "clear old logs there"))


def _shm(folder: Path, cards: int) -> Iterator[Finding]:
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        yield finding(
            "HK613.no-shm",
            "{folder} does not exist; data loaders pass batches through it",
            fix="mount it: docker run --shm-size=8g",
            folder=folder,
        )
        return
    wanted = SHM_PER_CARD * cards
    if free < wanted:
        yield finding(
            "HK613.small-shm",
            "{folder} has {free} MiB free, and {least} are recommended for {cards} cards: "
            "data loaders pass batches through it",
            fix="docker run --shm-size={size}g, or clear what old jobs left there",
            folder=folder,
            free=free >> 20,
            least=wanted >> 20,
            cards=cards,
            size=max(1, wanted >> 30),
        )


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # no permission
        return False


RULES = (
    Rule("HK613", "low-limit", too_little, severity="warning"),
    Rule("HK614", "low-disk-space", disk_full, severity="warning"),
)
