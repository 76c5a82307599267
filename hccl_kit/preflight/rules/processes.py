"""HK6: which processes use the cards of the table."""

from __future__ import annotations

import pwd
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.wording import listed
from hccl_kit.check.rule import Rule
from hccl_kit.discovery.npu_smi_info import Process
from hccl_kit.preflight.node import Node
from hccl_kit.preflight.probes.cards import here, info, named, physical_ids
from hccl_kit.preflight.probes.port_holder import job_of, open_files, read
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding

MAX_COMMAND = 4096
"""Bytes that are read of a command line; `shown` cuts it further."""
_MAX_PIDS = 8
_UID = re.compile(r"^Uid:\s+[0-9]+\s+([0-9]+)", re.MULTILINE)


class Who(NamedTuple):
    """The user, the command and the job of a process; "" if this system does not show them."""

    user: str
    command: str
    job: str = ""


def card_in_use(node: Node) -> Iterator[Finding]:
    """A process uses a card of the table.

    What:           npu-smi lists a process on a card that the table gives to a rank. It is reported by id, user and
                    command, and left alone.
    Why it matters: two jobs on a card share its memory, and only one can listen on port 16666 of its network port. The
                    host does not show the ports of a card; a process on it is the only sign.
    Example:        process 4711 of user ma ("python train.py") uses cards 0 to 7
    Fix:            ask its owner, or end it if it is left over from an old job: kill 4711; then wait 10 s, which the
                    driver needs. In a container npu-smi shows the processes of that container only.
    HCCL:           EJ0001 "the last training process is running"; EI0020 or EI0019 if the port is taken.
    """
    wanted = here(node)
    smi = info(node)
    ids = physical_ids(node, smi.chips)
    cards: dict[Process, set[int]] = {}
    for process in smi.processes:
        device_id = ids.get((process.npu, process.chip))
        if device_id in wanted and device_id is not None:
            cards.setdefault(process._replace(npu=0, chip=0), set()).add(device_id)
    groups = grouped(((_who(node.root / "proc", process), process.name), process) for process in cards)
    for (who, name), group in groups.items():
        pids = sorted({process.pid for process in group})
        on = set().union(*(cards[process] for process in group))
        yield Finding(
            _in_use(pids, _described(who, name), named(on)),
            Message(
                "HK627.fix",
                "ask the owner; if left over from an old job: kill {processes}, and wait 10 s",
                processes=" ".join(map(str, pids[:_MAX_PIDS])),
            ),
            device=next(iter(on)) if len(on) == 1 else None,
        )


def _in_use(pids: list[int], who: Message, cards: str) -> Message:
    if len(pids) == 1:
        return Message("HK627.process", "process {pid} {who} uses {cards}", pid=pids[0], who=who, cards=cards)
    numbers = listed(pids, _MAX_PIDS)
    return Message("HK627.processes", "processes {pids} {who} use {cards}", pids=numbers, who=who, cards=cards)


def _described(who: Who, name: str) -> Message:
    if who.command or who.user:
        command, job = shown(who.command or name), f", {who.job}" if who.job else ""
        return Message("HK627.user", "of user {user} ({command}{job})", user=who.user, command=command, job=job)
    if name:
        return Message("HK627.not-visible", "({name}, not visible from here)", name=shown(name))
    return Message("HK627.nothing-visible", "(not visible from here)")


def _who(proc: Path, process: Process) -> Who:
    """Facts about the process with that id in this container, else on this host."""
    for pid in (process.inner, process.pid):
        folder = proc / str(pid)
        if pid is not None and folder.is_dir() and _may_be_on_npu(folder):
            return Who(_user(folder), _command(folder), job_of(folder))
    return Who("", "")


def _may_be_on_npu(folder: Path) -> bool:
    """False if its open files are visible and none is of an NPU: the same id inside a container is another process."""
    files = open_files(folder)
    return files is None or any(file.startswith("/dev/davinci") for file in files)


def _user(folder: Path) -> str:
    match = _UID.search(read(folder / "status", MAX_COMMAND))
    if not match:
        return "unknown"
    try:
        return pwd.getpwuid(int(match[1])).pw_name
    except (KeyError, OverflowError):
        return match[1]


def _command(folder: Path) -> str:
    return (
        " ".join(read(folder / "cmdline", MAX_COMMAND).split("\0")).strip()
        or read(folder / "comm", MAX_COMMAND).strip()
    )


RULES = (Rule("HK627", "card-in-use", card_in_use, hccl_error="EJ0001", needs_server=True),)
