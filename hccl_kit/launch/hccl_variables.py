"""The variables of a job with their reasons: ports that no other job has, the interface of each server, timeouts.

Sources: the pages of HCCL's variables (CANN 8.0 to 9.1), and topoinfo_detect.cc of hcomm. HCCL_IF_BASE_PORT is known
to all releases; the two ranges since CANN 8.1.RC1, on Atlas A2 and newer, where the range of the host overrides the
base port.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.network import ip_of
from hccl_kit.base.wording import row, sentences
from hccl_kit.discovery.server_id import Interface
from hccl_kit.launch.job_ports import JOBS, JobPorts, Kernel, job_ports
from hccl_kit.launch.plan import address_of
from hccl_kit.launch.recorders import RECORDERS
from hccl_kit.runtime.worker_env import NAMES
from hccl_kit.table.model import RankTable, Server

BASE_PORT = "HCCL_IF_BASE_PORT"
HOST_RANGE = "HCCL_HOST_SOCKET_PORT_RANGE"
CARD_RANGE = "HCCL_NPU_SOCKET_PORT_RANGE"
CONNECT_TIMEOUT, EXEC_TIMEOUT = "HCCL_CONNECT_TIMEOUT", "HCCL_EXEC_TIMEOUT"
IF_IP, IF_NAME, FAMILY = "HCCL_IF_IP", "HCCL_SOCKET_IFNAME", "HCCL_SOCKET_FAMILY"
IF_OF_TORCH = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
"""What gloo and tensorpipe of torch listen on: names of interfaces, separated by commas."""
OF_A_SERVER = (IF_IP, IF_NAME, FAMILY)
"""The variables that may differ between servers; the others are equal on all ranks."""
RECORDER_SWITCHES = tuple(recorder.name for recorder in RECORDERS if not recorder.in_logs)
"""The variables of the flight recorders that do not name a file."""
(MASTER_PORT,) = NAMES["master_port"]

LEAST_CONNECT, MOST_CONNECT = 120, 7200
CONNECT = 600
"""HCCL's default of 120 s is too short where ranks compile or load their data first, also on one server."""
EXEC = 1836
MOST_EXEC, MOST_EXEC_OF_910 = 2_147_483_647, 17_340


class Variable(NamedTuple):
    """A variable of the ranks, and why it has this value."""

    name: str
    value: str
    reason: str


class Host(NamedTuple):
    """What is known about a server: its network interfaces, and the ports that its kernel assigns to clients."""

    interfaces: tuple[Interface, ...]
    kernel: Kernel


class ServerVariables(NamedTuple):
    """The variables of the ranks of a server besides those of the job; `note` says which are missing and why."""

    server: str
    variables: tuple[Variable, ...]
    note: str | None = None


class Wanted(NamedTuple):
    """Which job of a host this is, how many there may be, and timeouts in seconds (None: chosen)."""

    job: int = 0
    jobs: int = JOBS
    connect: int | None = None
    execute: int | None = None


class VariablePlan(NamedTuple):
    """The variables of all ranks, and those of the ranks of each server in the order of the table."""

    wanted: Wanted
    ports: JobPorts
    variables: tuple[Variable, ...]
    servers: tuple[ServerVariables, ...]
    kernels: tuple[Kernel, ...]
    """The kernels that the ports were chosen for."""
    assumes_linux: bool
    """Whether the kernel of a server is unknown, so that the default of Linux is among `kernels`."""

    def of(self, server: ServerVariables) -> tuple[Variable, ...]:
        """All variables of the ranks of a server."""
        return (*self.variables, *server.variables)


def plan_variables(table: RankTable, wanted: Wanted, hosts: Mapping[str, Host]) -> VariablePlan:
    """The plan for a table; `hosts` are the servers that are known, by their id.

    Raises KitError if the requested ports or timeouts are not possible.
    """
    known = [hosts[server.id].kernel for server in table.servers if server.id in hosts]
    assumes_linux = len(known) < len(table.servers)
    kernels = tuple(dict.fromkeys([*known, *([Kernel()] if assumes_linux else [])]))
    ports = job_ports(wanted.job, wanted.jobs, kernels)
    return VariablePlan(
        wanted,
        ports,
        (
            *_port_variables(ports),
            *_timeout_variables(wanted),
            Variable(
                MASTER_PORT,
                str(ports.master),
                Message("launch.reason.master-port", "port of rank 0, for torch and the launch scripts"),
            ),
            *(Variable(row.name, row.value, why) for row, why in RECORDERS.items() if not row.in_logs),
        ),
        tuple(_server_variables(server, hosts.get(server.id)) for server in table.servers),
        kernels,
        assumes_linux,
    )


def script_variables(table: RankTable, job: int | None, jobs: int | None = None) -> list[tuple[str, str]]:
    """The variables that the scripts of a job set unless the user has; empty if `job` is None.

    Scripts start one process per card, for which the base port is enough; the range would override a user's base port.
    They switch on the flight recorders in any case, with files in the folder of the run.

    The kernels of the servers are not known here, so the default of Linux is assumed (HK605 checks it there), and
    the interfaces are left to HCCL. Raises KitError as `plan_variables`.
    """
    if job is None:
        if jobs is not None:
            raise KitError(
                "launch.hccl-variables.jobs-per-host",
                "--jobs-per-host {jobs} without --job",
                fix="--job K, from 0: the number of this job",
                jobs=jobs,
            )
        return []
    planned = plan_variables(table, Wanted(job, JOBS if jobs is None else jobs), {}).variables
    apart = {HOST_RANGE, *RECORDER_SWITCHES}
    return [(variable.name, variable.value) for variable in planned if variable.name not in apart]


def _port_variables(ports: JobPorts) -> tuple[Variable, ...]:
    host, card = ports.host, ports.card
    return (
        Variable(
            BASE_PORT,
            str(host.first),
            Message(
                "launch.reason.base-port",
                "ports {first} to {last} of the host, by the number of the card; the default is 60000 for every"
                " job (EI0019)",
                first=host.first,
                last=host.last,
            ),
        ),
        Variable(
            HOST_RANGE,
            str(host),
            Message(
                "launch.reason.host-range",
                "the same ports for several processes on a card; overrides the base port from CANN 8.1.RC1 on, older"
                " releases ignore it",
            ),
        ),
        Variable(
            CARD_RANGE,
            str(card),
            Message(
                "launch.reason.card-range",
                "ports of each card, one for each process on it; the default is 16666 for every job (EI0020). Ranks"
                " that read a rank table listen at its device_port. Leave both ranges empty on Atlas A2 with fused"
                " operators (MC2)",
            ),
        ),
    )


def _timeout_variables(wanted: Wanted) -> tuple[Variable, ...]:
    connect = wanted.connect if wanted.connect is not None else CONNECT
    execute = wanted.execute if wanted.execute is not None else max(EXEC, connect + 120)
    if not LEAST_CONNECT <= connect <= MOST_CONNECT:
        raise KitError(
            "launch.hccl-variables.connect-timeout",
            "--connect-timeout is {connect}; accepted: {least_connect} to {most_connect} seconds",
            connect=connect,
            least_connect=LEAST_CONNECT,
            most_connect=MOST_CONNECT,
        )
    if not 0 <= execute <= MOST_EXEC:
        raise KitError(
            "launch.hccl-variables.exec-timeout",
            "--exec-timeout is {execute}; accepted: 0 (no limit) to {most_exec} seconds",
            execute=execute,
            most_exec=MOST_EXEC,
        )
    if 0 < execute <= connect:
        raise KitError(
            "launch.hccl-variables.exec-timeout-not",
            "--exec-timeout {execute} is not above --connect-timeout {connect}: an operator would "
            "time out while its links are still being established",
            hint=Message(
                "launch.hccl-variables.exec-timeout-not.fix", "--exec-timeout {connect}", connect=connect + 120
            ),
            execute=execute,
            connect=connect,
        )
    return (
        Variable(
            CONNECT_TIMEOUT,
            str(connect),
            Message(
                "launch.reason.connect-timeout", "seconds for a link, equal on all ranks, which may start minutes apart"
            ),
        ),
        Variable(
            EXEC_TIMEOUT,
            str(execute),
            Message(
                "launch.reason.exec-timeout",
                "seconds for an operator, equal on all ranks: {limit}",
                limit=_limit(execute),
            ),
        ),
    )


def _limit(execute: int) -> str:
    """What a timeout of operators means."""
    limit = Message("launch.reason.longer", "longer than the time for links, so that the first error is the cause")
    if execute == 0:
        limit = Message("launch.reason.no-limit", "no limit")
    if 0 < execute <= MOST_EXEC_OF_910:
        return limit
    narrow = Message("launch.reason.narrow", "Atlas 910 and 300I Duo accept 1 to {most} only", most=MOST_EXEC_OF_910)
    return sentences([limit, narrow])


def _server_variables(server: Server, host: Host | None) -> ServerVariables:
    address = ip_of(address_of(server))
    if address is None or address.is_loopback:
        note = Message("launch.reason.loopback", "a loopback address; HCCL chooses the interface")
        if address is None:
            note = Message("launch.reason.no-address", "its id is not an address, so HCCL chooses the interface")
        return ServerVariables(server.id, (), note)
    ipv6 = Message("launch.reason.ipv6", "the address of the server is IPv6")
    family = [Variable(FAMILY, "AF_INET6", ipv6)] if address.version == 6 else []
    why = Message("launch.reason.address", "the address of this server in the table; overrides HCCL_SOCKET_IFNAME")
    by_address = Variable(IF_IP, str(address), why)
    if host is None:
        note = Message(
            "launch.reason.unknown-host", "its interfaces are not known here; --ssh asks it, or run this on it"
        )
        return ServerVariables(server.id, (by_address, *family), note)
    names = [interface.name for interface in host.interfaces if ip_of(interface.address) == address]
    if not names:
        there = row(f"{interface.name} {interface.address}" for interface in host.interfaces)
        note = Message(
            "launch.reason.no-interface",
            "no interface of it has {address}; it has {interfaces}",
            address=address,
            interfaces=there or Message("launch.reason.none", "none"),
        )
        return ServerVariables(server.id, (), note)
    why = Message(
        "launch.reason.interface", "the interface that has {address}; = is for exactly this name", address=address
    )
    by_name = Variable(IF_NAME, f"={names[0]}", why)
    same = Message("launch.reason.torch", "the same interface for torch between hosts")
    of_torch = [Variable(name, names[0], same) for name in IF_OF_TORCH]
    return ServerVariables(server.id, (by_address, by_name, *family, *of_torch))
