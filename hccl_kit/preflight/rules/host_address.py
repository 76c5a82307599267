"""HK6: the address of the host that HCCL uses."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.network import ip_of
from hccl_kit.base.wording import joined
from hccl_kit.check.rule import Rule
from hccl_kit.discovery.server_id import choose, interfaces
from hccl_kit.launch.plan import HOST_IP
from hccl_kit.preflight.node import NO_SERVER, CannotTellError, Node
from hccl_kit.preflight.probes.this_server import plain
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, finding

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


RULES = (
    Rule("HK610", "unknown-interface", no_interface, hccl_error="EI0001"),
    Rule("HK611", "unexpected-interface", another_interface, severity="warning"),
)
