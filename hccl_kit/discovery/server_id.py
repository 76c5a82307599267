"""This server's own address: the one that HCCL would choose.

HCCL's order (HCCL user guide, HCCL_IF_IP and HCCL_SOCKET_IFNAME; its bootstrap code agrees):

1. HCCL_IF_IP, which must be an address of this machine, optionally with %INTERFACE;
2. HCCL_SOCKET_IFNAME: the first matching interface. `eth,enp` are prefixes, `=eth0,enp0` exact names,
   a leading `^` negates the match;
3. the first interface by name that is neither docker* nor lo*, then docker*, then lo*.

HCCL_SOCKET_FAMILY (AF_INET, which is the default, or AF_INET6) is tried first, the other family after it.
"""

from __future__ import annotations

import array
import fcntl
import ipaddress
import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.wording import row, system_reason

_SIOCGIFCONF = 0x8912  # linux/sockios.h
_IFREQ = 40 if struct.calcsize("P") == 8 else 32  # bytes of a struct ifreq: a name of 16 and a union
_MAX_ADDRESSES = 4096
_HINT = Message("discovery.server-id.fix", "set the address: --server_ip ADDRESS")
_FAMILIES = {"": 4, "AF_INET": 4, "AF_INET6": 6}


@dataclass(frozen=True, slots=True)
class Interface:
    """One address of one network interface of this machine."""

    name: str
    address: str

    @property
    def is_link_local(self) -> bool:
        """Whether it is a link-local IPv6 address; HCCL uses one only if HCCL_IF_IP names it."""
        address = ipaddress.ip_address(self.address)
        return address.version == 6 and address.is_link_local


@dataclass(frozen=True, slots=True)
class Choice:
    """The address of this server in a table, and the reason for the choice."""

    address: str
    reason: str


def choose(interfaces: Sequence[Interface], environ: Mapping[str, str]) -> Choice:
    """The choice of HCCL among `interfaces` (in the system's order) with the variables in `environ`.

    Raises KitError if a variable matches nothing on this machine (HCCL would stop with EI0001), or if the machine has
    no address.
    """
    if wanted := environ.get("HCCL_IF_IP"):
        address = wanted.partition("%")[0]
        holder = next((interface for interface in interfaces if _same(interface.address, address)), None)
        if holder is None:
            raise _error(
                Message("discovery.if-ip", "HCCL_IF_IP={address} is not an address of this machine", address=wanted),
                interfaces,
            )
        return Choice(f"{address}%{holder.name}" if holder.is_link_local else address, "HCCL_IF_IP")
    far = [interface for interface in interfaces if not interface.is_link_local]
    ordered = _by_family(far, environ.get("HCCL_SOCKET_FAMILY", ""))
    if names := environ.get("HCCL_SOCKET_IFNAME"):
        for interface in ordered:
            if matches(interface.name, names):
                reason = Message(
                    "discovery.interface-of-variable",
                    "interface {name}, HCCL_SOCKET_IFNAME={names}",
                    name=interface.name,
                    names=names,
                )
                return Choice(interface.address, reason)
        message = Message(
            "discovery.if-name", "HCCL_SOCKET_IFNAME={names} matches no interface of this machine", names=names
        )
        raise _error(message, interfaces)
    if not ordered:
        raise _error(Message("discovery.machine-no-address", "this machine has no network address"), interfaces)
    family = _version(ordered[0])
    first = min((i for i in ordered if _version(i) == family), key=lambda i: (_rank(i.name), i.name))
    reason = Message("discovery.interface-of-hccl", "interface {name}, the one HCCL would choose", name=first.name)
    return Choice(first.address, reason)


def interfaces() -> tuple[Interface, ...]:
    """Every address of this machine, IPv4 before IPv6, from the Linux kernel."""
    buffer = array.array("B", bytes(_IFREQ * _MAX_ADDRESSES))
    start, size = buffer.buffer_info()
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            answer = fcntl.ioctl(probe.fileno(), _SIOCGIFCONF, struct.pack("iP", size, start))
    except OSError as error:  # a sandbox without network access
        raise KitError(
            "discovery.cannot-read-addresses",
            "cannot read the addresses of this machine: {reason}",
            hint=_HINT,
            reason=system_reason(error),
        ) from error
    (filled,) = struct.unpack_from("i", answer)
    data = buffer.tobytes()[:filled]
    ipv4 = [
        Interface(
            data[at : at + 16].partition(b"\0")[0].decode("utf-8", "replace"), socket.inet_ntoa(data[at + 20 : at + 24])
        )
        for at in range(0, filled, _IFREQ)
    ]
    return (*ipv4, *_ipv6(Path("/proc/net/if_inet6")))


def _ipv6(path: Path) -> Iterable[Interface]:
    """Lines are: 32 hex digits, interface index, prefix length, scope, flags, name. No file: no IPv6."""
    lines = path.read_text(encoding="ascii", errors="replace").splitlines() if path.exists() else []
    for digits, _index, _prefix, _scope, _flags, name in map(str.split, lines):
        yield Interface(name, str(ipaddress.IPv6Address(int(digits, 16))))


def _version(interface: Interface) -> int:
    return ipaddress.ip_address(interface.address).version


def _by_family(interfaces: Sequence[Interface], family: str) -> list[Interface]:
    if family not in _FAMILIES:
        raise KitError(
            "discovery.family",
            "HCCL_SOCKET_FAMILY={family} is not a valid value; accepted: AF_INET, AF_INET6",
            family=family,
        )
    return sorted(interfaces, key=lambda interface: _version(interface) != _FAMILIES[family])


def matches(name: str, wanted: str) -> bool:
    """Whether HCCL_SOCKET_IFNAME=`wanted` matches the interface `name`."""
    patterns = wanted.removeprefix("^")
    parts = [part for part in patterns.removeprefix("=").split(",") if part]
    is_matched = name in parts if patterns.startswith("=") else name.startswith(tuple(parts))
    return is_matched != wanted.startswith("^")


def _rank(name: str) -> int:
    """The class of an interface in HCCL's order, by the prefix of its name."""
    return 2 if name.startswith("lo") else 1 if name.startswith("docker") else 0


def _same(address: str, other: str) -> bool:
    try:
        return ipaddress.ip_address(address) == ipaddress.ip_address(other)
    except ValueError:
        return False


_NO_ADDRESS = Message("discovery.no-addresses", "none")


def _error(message: Message, interfaces: Sequence[Interface]) -> KitError:
    there = row(f"{interface.name} {interface.address}" for interface in interfaces) or _NO_ADDRESS
    whole = Message(
        "discovery.addresses", "{message}; its addresses are: {addresses}", message=message, addresses=there
    )
    return KitError(whole, hint=_HINT)
