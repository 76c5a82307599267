"""HK6: which server and rank of the table this machine and process are, and the address of the host that HCCL uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.network import ip_of, is_loopback
from hccl_kit.base.wording import joined, listed, row
from hccl_kit.check.rule import Rule
from hccl_kit.discovery.server_id import choose, interfaces
from hccl_kit.launch.plan import HOST_IP
from hccl_kit.preflight.node import ATLAS_950, NO_SERVER, CannotTellError, Node
from hccl_kit.preflight.probes.this_server import names_here, plain, servers_here
from hccl_kit.preflight.rules.variables import cards_meant
from hccl_kit.runtime.worker_env import NAMES, SERVER
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, finding
from hccl_kit.table.model import RankTable, Server

_VARIABLES = ("HCCL_IF_IP", "HCCL_SOCKET_IFNAME", "HCCL_SOCKET_FAMILY")


def no_interface(node: Node) -> Iterator[Finding]:
    """The variables do not match a network interface of this machine.

    What:           HCCL_IF_IP is not an address of this machine, HCCL_SOCKET_IFNAME matches none of its interfaces, or
                    HCCL_SOCKET_FAMILY is not a valid family.
    Why it matters: HCCL listens on the interface that they name.
    Example:        HCCL_SOCKET_IFNAME=enp189s0f0, copied from another server.
    Fix:            name an interface of this machine, or unset the variables.
    HCCL:           EI0001, or EI0015 if the ranks then do not find each other.
    """
    given = [f"{name}={node.environ[name]}" for name in _VARIABLES if node.environ.get(name)]
    if not given:
        return
    try:
        choose(interfaces(), node.environ)
    except KitError as error:
        yield Finding(error.message, Message("HK610.fix", "name an interface of this machine, or unset the variable"))


def another_interface(node: Node) -> Iterator[Finding]:
    """HCCL will use another network interface than the table names.

    What:           in a job of several servers, the address that HCCL chooses on this machine is neither `host_ip` nor
                    the server's id. It takes HCCL_IF_IP, then what HCCL_SOCKET_IFNAME names, then the first by name
                    that is neither docker* nor lo*.
    Why it matters: the other servers may not reach that address.
    Example:        HCCL takes 192.168.122.1 on virbr0, and the server is 10.0.0.1.
    Fix:            export HCCL_SOCKET_IFNAME with the name of the interface, or HCCL_IF_IP with the address.
    HCCL:           no code of its own; EI0006 or EI0015 after the timeout.
    """
    if node.server is None:
        raise CannotTellError(NO_SERVER)
    wanted = [plain(name) for name in (node.server.extra.get(HOST_IP), node.server.id) if ip_of(str(name))]
    if len(node.table.servers) == 1 or not wanted:
        return
    there = interfaces()
    try:
        choice = choose(there, node.environ)
    except KitError:
        return  # reported by HK610
    if plain(choice.address.partition("%")[0]) in wanted:
        return
    names = [interface.name for interface in there if plain(interface.address) in wanted]
    hint = Message(
        "HK611.address.fix", "export HCCL_IF_IP={address}, if that is an address of this host", address=wanted[0]
    )
    if names:
        hint = Message(
            "HK611.interface.fix",
            "export HCCL_SOCKET_IFNAME='={interface}'   # '=': exactly this interface",
            interface=names[0],
        )
    written = joined(map(shown, dict.fromkeys(wanted)))
    yield finding(
        "HK611.other-interface",
        "HCCL will use {address} ({reason}); the table has {table}",
        hint=hint,
        address=choice.address,
        reason=choice.reason,
        table=written,
    )


def not_a_server(node: Node) -> Iterator[Finding]:
    """This machine matches no server of the table, or more than one.

    What:           no `server_id` and no `host_ip` of the table is an address or host name of this machine; or those of
                    two servers are.
    Why it matters: ranks that are started here take the cards and addresses of another server.
    Example:        the table has 10.0.0.1 and 10.0.0.2, and this machine is 10.0.0.3.
    Fix:            take the table of this cluster, or name the server: --server ID, or HCCL_KIT_SERVER=ID.
    HCCL:           no code of its own; the job ends with EI0014 (device_ip is not that of the card) or EI0006.
    """
    if node.server:
        return
    if node.table.version == ATLAS_950:
        raise CannotTellError(
            "HK600.no-hosts", "a table of version 2.0 names no hosts; name the server with --server NETWORK"
        )
    hint = Message("HK600.fix", "name the server with --server ID or {variable}=ID", variable=SERVER)
    servers = servers_here(node.table)
    if servers:
        yield finding(
            "HK600.several-servers",
            "this machine matches several servers of the table: {servers}",
            hint=hint,
            servers=_ids(servers),
        )
    else:
        names = row(sorted(shown(name) for name in names_here() if not is_loopback(name)))
        yield finding(
            "HK600.no-server",
            "this machine matches no server of the table: it has {names}; the table has {servers}",
            hint=hint,
            names=names,
            servers=_ids(node.table.servers),
        )


def wrong_rank(node: Node) -> Iterator[Finding]:
    """This process has another rank, number of ranks or card than the table assigns.

    What:           RANK_ID is not a number below the number of ranks; RANK_SIZE is not that number; the rank is on
                    another server, or has another card than DEVICE_ID, which is its physical id, an index into
                    ASCEND_RT_VISIBLE_DEVICES, or in a container a count of the cards in /dev.
    Why it matters: HCCL compares the card of the process with that of its rank in the table.
    Example:        RANK_ID=2 DEVICE_ID=0, and rank 2 has card 2.
    Fix:            start the ranks with a script of `hccl-kit launch`, or unset the variables of an earlier job.
    HCCL:           EI0014, rank_id or devicePhyId (R19, R20); EI0003 if RANK_ID is not a number.
    """
    hint = Message("HK612.fix", "start the ranks with a script of `hccl-kit launch`, or unset the variable")
    yield from (Finding(message, hint) for message in _rank_differences(node))


def outside_table(table: RankTable, environ: Mapping[str, str]) -> Iterator[Message]:
    """What RANK_ID and RANK_SIZE say that this table cannot have, and numbers that are none."""
    size = table.world_size
    given = _given(environ)
    for field, text in given.items():
        if not re.fullmatch("[0-9]{1,10}", text):
            yield Message(
                "HK612.not-a-number",
                "{variable}={value} is not a number",
                variable=NAMES[field][0],
                value=shown(text),
            )
            return
    if "size" in given and int(given["size"]) != size:
        yield Message(
            "HK612.size",
            "{variable}={value}, and the table has {size} ranks",
            variable=NAMES["size"][0],
            value=given["size"],
            size=size,
        )
    if "rank" in given and int(given["rank"]) >= size:
        yield Message(
            "HK612.no-rank",
            "{variable}={rank}, and the table has ranks 0 to {last}",
            variable=NAMES["rank"][0],
            rank=given["rank"],
            last=size - 1,
        )


def _given(environ: Mapping[str, str]) -> Mapping[str, str]:
    return {field: environ[name] for field in ("rank", "size", "device") if (name := NAMES[field][0]) in environ}


def _rank_differences(node: Node) -> Iterator[Message]:
    yield from outside_table(node.table, node.environ)
    given = _given(node.environ)
    if "rank" not in given or not all(re.fullmatch("[0-9]{1,10}", text) for text in given.values()):
        return
    rank = int(given["rank"])
    server, device = next(((s, d) for s, d in node.table.devices() if d.rank == rank), (None, None))
    if server is None or device is None:
        return
    if node.server and server is not node.server:
        yield Message(
            "HK612.other-server",
            "{variable}={rank}, which the table assigns to server {server}",
            variable=NAMES["rank"][0],
            rank=rank,
            server=shown(server.id),
        )
    elif "device" in given and device.id not in cards_meant(node, int(given["device"])):
        yield Message(
            "HK612.other-card",
            "{rank_variable}={rank} and {card_variable}={value}; the table assigns rank {rank} the card {card}",
            rank_variable=NAMES["rank"][0],
            rank=rank,
            card_variable=NAMES["device"][0],
            value=given["device"],
            card=device.id,
        )


def _ids(servers: Sequence[Server]) -> str:
    return listed(shown(server.id) for server in servers)


RULES = (
    Rule("HK600", "unknown-server", not_a_server),
    Rule("HK612", "wrong-rank", wrong_rank, hccl_error="EI0014"),
    Rule("HK610", "unknown-interface", no_interface, hccl_error="EI0001"),
    Rule("HK611", "unexpected-interface", another_interface, severity="warning"),
)
