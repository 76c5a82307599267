"""HK6: the ports of the host that HCCL listens on."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence
from itertools import islice

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.check.rule import Rule
from hccl_kit.discovery.server_id import choose, interfaces
from hccl_kit.launch.hccl_variables import BASE_PORT, CARD_RANGE, HOST_RANGE
from hccl_kit.launch.job_ports import DEFAULT_BASE, DEFAULT_CARD, DEFAULT_HOST_PORTS
from hccl_kit.preflight.host_facts import read_kernel
from hccl_kit.preflight.node import CannotTellError, Node
from hccl_kit.preflight.probes.port_holder import holder
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


RULES = (
    Rule("HK604", "host-port-in-use", port_taken, hccl_error="EI0019"),
    Rule("HK605", "port-in-ephemeral-range", ports_given_away, severity="warning"),
)
