"""HK6: what other jobs may hold: the ports of the host that HCCL listens on, and the cards of the table."""

from __future__ import annotations

import pwd
import re
import socket
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.grouped import grouped
from hccl_kit.base.message import Message
from hccl_kit.base.wording import listed
from hccl_kit.check.rule import Rule
from hccl_kit.discovery.npu_smi import Process
from hccl_kit.discovery.server_id import choose, interfaces
from hccl_kit.launch.hccl_variables import BASE_PORT, CARD_RANGE, HOST_RANGE
from hccl_kit.launch.job_ports import DEFAULT_BASE, DEFAULT_CARD, DEFAULT_HOST_PORTS
from hccl_kit.preflight.host_facts import read_kernel
from hccl_kit.preflight.node import CannotTellError, Node
from hccl_kit.preflight.probes.cards import here, info, named, physical_ids
from hccl_kit.preflight.probes.port_holder import holder, job_of, open_files, read
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, finding

MAX_PORTS = 4096
"""Ports of HCCL_HOST_SOCKET_PORT_RANGE that are tried."""

_END_IT = Message("HK604.fix", "end it, or give this job the ports of another number: hccl-kit env TABLE --job 1")
_RESERVE_IT = Message(
    "HK604.connection.fix",
    "reserve the port (HK605), or give this job the ports of another number: hccl-kit env TABLE --job 1",
)
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def port_taken(node: Node) -> Iterator[Finding]:
    """A port of the host that HCCL needs is taken.

    What:           another process listens on one of the 32 ports from 60000 on (from HCCL_IF_BASE_PORT on; those of
                    HCCL_HOST_SOCKET_PORT_RANGE), or on 16666 unless HCCL_NPU_SOCKET_PORT_RANGE is set, at the
                    address that HCCL takes; or a connection to somewhere else goes out from it (HK605). Each is tried
                    by binding.
    Why it matters: HCCL listens there while the ranks find each other.
    Example:        60000 is held by python, process 4711, of a job that did not end.
    Fix:            end that job, or start this one with ports of its own: `hccl-kit env TABLE --job 1` prints them,
                    and `hccl-kit launch --job 1` writes a script that sets them.
    HCCL:           EI0019 (EJ0003 in older releases), "listen on ip and specific port fail".
    """
    address = _address(node)
    taken = [port for port in islice(ports(node), MAX_PORTS) if not is_free(address, port)]
    for port in taken:
        process = holder(port, node.root)
        yield finding(
            "HK604.taken",
            "port {port} of {address} is taken by {holder}",
            hint=_END_IT if process is None or process.listens else _RESERVE_IT,
            port=port,
            address=address,
            holder=process.text if process else Message("HK604.hidden", "a process that this user may not see"),
        )


def ports_given_away(node: Node) -> Iterator[Finding]:
    """Other programs may get the ports of HCCL as ephemeral ports.

    What:           some of the ports lie in net.ipv4.ip_local_port_range and are not in ip_local_reserved_ports.
    Why it matters: any outgoing connection of any program may take one, so that a job fails now and then.
    Example:        the range is 32768 to 60999, and nothing is reserved.
    Fix:            sysctl -w net.ipv4.ip_local_reserved_ports=60000-60031, which keeps what is free for HCCL; or take
                    the ports of `hccl-kit env TABLE`, which lie outside the range.
    HCCL:           no code until it happens, then EI0019.
    """
    try:
        kernel = read_kernel(node.root)
    except (OSError, ValueError):
        raise CannotTellError("HK605.not-read", "the range of ephemeral ports cannot be read") from None
    wanted = [port for port in islice(ports(node), MAX_PORTS) if port != DEFAULT_CARD]
    given = [port for port in wanted if kernel.given_away((port, port))]
    if given:
        first, last = given[0], given[-1]
        low, high = kernel.ephemeral
        yield finding(
            "HK605.ephemeral",
            "ports {first} to {last} lie in the range {low} to {high} of ports for outgoing connections",
            fix="sysctl -w net.ipv4.ip_local_reserved_ports={first}-{last} "
            "(append to the ports that are already reserved)",
            first=first,
            last=last,
            low=low,
            high=high,
        )


def ports(node: Node) -> Iterator[int]:
    """The ports of the host that HCCL will listen on; an invalid variable, which HK606 reports, is ignored."""
    wanted = node.environ.get(HOST_RANGE, "").replace(" ", "")
    if wanted == "auto":
        return
    if wanted:
        yield from _numbers(wanted)
        return
    base = node.environ.get(BASE_PORT, "")
    first = int(base) if re.fullmatch(r"[0-9]{1,5}", base) else DEFAULT_BASE
    yield from range(first, min(first + DEFAULT_HOST_PORTS, 65536))
    if not node.environ.get(CARD_RANGE):
        yield DEFAULT_CARD


def is_free(address: str, port: int) -> bool:
    """Whether a program could listen there now; an address of one link has its interface behind "%"."""
    family, _, _, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)[0]
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # an ended connection does not block the port
        try:
            probe.bind(place)
            probe.listen()
        except PermissionError:
            return True  # below 1024; HCCL has its own check
        except OSError:
            return False
    return True


def _address(node: Node) -> str:
    try:
        return choose(interfaces(), node.environ).address
    except KitError:
        raise CannotTellError("HK604.no-address", "no address of the host is chosen, see HK610") from None


def _numbers(text: str) -> Iterator[int]:
    """The numbers of `60000-60015,61000`; without what is not a number."""
    parts: Sequence[str] = text.split(",") if text else ()
    for part in parts:
        match = _RANGE.fullmatch(part)
        if match:
            yield from range(int(match[1]), min(int(match[2] or match[1]), 65535) + 1)


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


RULES = (
    Rule("HK604", "host-port-in-use", port_taken, hccl_error="EI0019"),
    Rule("HK605", "port-in-ephemeral-range", ports_given_away, severity="warning"),
    Rule("HK627", "card-in-use", card_in_use, hccl_error="EJ0001", needs_server=True),
)
