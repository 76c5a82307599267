"""The addresses and the ephemeral ports of servers: of this one, and of others by two commands over ssh."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Sequence
from pathlib import Path

from hccl_kit.base.message import Message, reason_of
from hccl_kit.discovery.server_id import Interface, interfaces
from hccl_kit.launch.hccl_variables import Host
from hccl_kit.launch.job_ports import Kernel
from hccl_kit.launch.plan import address_of
from hccl_kit.remote.asking import Question, Reply, ask
from hccl_kit.remote.ssh import ssh_start
from hccl_kit.table.model import Server

_SYSCTL = "/proc/sys/net/ipv4"
_FILES = ("ip_local_port_range", "ip_local_reserved_ports")
_READ = f"cat {' '.join(f'{_SYSCTL}/{name}' for name in _FILES)} && PATH=$PATH:/usr/sbin:/sbin ip -o addr"
_COMMAND = ("sh", "-c", _READ)
_MAX_RESERVED = 4096
_ADDRESS = re.compile(r"[0-9]+: ([A-Za-z0-9][A-Za-z0-9_.:-]{0,14})(?:@\S+)? +inet6? ([0-9A-Fa-f.:]{2,39})/[0-9]+ ")
_RESERVED = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def this_host() -> Host:
    """This machine; its ports are the default of Linux if they cannot be read.

    Raises KitError if its addresses cannot be read.
    """
    try:
        kernel = read_kernel(Path("/"))
    except (OSError, ValueError):
        kernel = Kernel()
    return Host(tuple(interface for interface in interfaces() if not interface.is_link_local), kernel)


def read_kernel(root: Path) -> Kernel:
    """The ports that this machine assigns to outgoing connections. Raises OSError or ValueError without them."""
    return _kernel(*((root / _SYSCTL[1:] / name).read_text(encoding="ascii") for name in _FILES))


def hosts_over_ssh(
    servers: Sequence[Server], options: Sequence[str], timeout: float
) -> tuple[dict[str, Host], dict[str, str]]:
    """What the servers answer, and for those that do not, why. Raises KitError if ssh cannot be run as asked."""
    questions = [Question(address_of(server), _COMMAND) for server in servers]
    replies = ask(ssh_start(os.environ, options), questions, timeout=timeout)
    hosts: dict[str, Host] = {}
    failed: dict[str, str] = {}
    for server, reply in zip(servers, replies, strict=True):
        try:
            hosts[server.id] = host_in(reply)
        except ValueError as error:
            failed[server.id] = reply.stderr or reason_of(error)
    return hosts, failed


def host_in(reply: Reply) -> Host:
    """The host in a reply, which is not trusted. Raises ValueError if it is not the output of the command."""
    if reply.error is not None:
        raise ValueError(reply.error)
    lines = reply.text.splitlines()
    # A banner may come first.
    at = next(
        (number for number, line in enumerate(lines) if re.fullmatch(r"[0-9]{1,5}\s+[0-9]{1,5}", line.strip())), -1
    )
    if at < 0 or len(lines) < at + 2:
        raise ValueError(Message("preflight.no-host-facts", "it did not print its ports and addresses"))
    matches = (_ADDRESS.match(line) for line in lines[at + 2 :])
    addresses = (Interface(match[1], str(ipaddress.ip_address(match[2]))) for match in matches if match)
    return Host(
        tuple(interface for interface in addresses if not interface.is_link_local), _kernel(lines[at], lines[at + 1])
    )


def _kernel(ephemeral: str, reserved: str) -> Kernel:
    """The kernel of the two files. Raises ValueError if they are not what Linux writes."""
    low, high = map(int, ephemeral.split())
    if not 0 < low <= high < 65536:
        raise ValueError(Message("preflight.bad-range", "the range of ephemeral ports is not valid"))
    parts = [_RESERVED.fullmatch(part) for part in reserved.strip().split(",")[:_MAX_RESERVED] if part]
    ranges = [(int(part[1]), int(part[2] or part[1])) for part in parts if part]
    return Kernel((low, high), tuple(ranges))
