"""The network interface that has an address. Linux only."""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import struct

GET_ADDRESS = 0x8915
"""SIOCGIFADDR of netdevice(7): the IPv4 address of an interface."""
IPV6 = "/proc/net/if_inet6"


def interface_of(address: str) -> str | None:
    """The name of the interface with this IPv4 or IPv6 address; None if there is none."""
    try:
        wanted = ipaddress.ip_address(address)
    except ValueError:
        return None
    return _of_ipv4(wanted) if wanted.version == 4 else _of_ipv6(wanted)


def _of_ipv4(wanted: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                address = fcntl.ioctl(probe.fileno(), GET_ADDRESS, request)[20:24]
            except OSError:  # it has no address
                continue
            if address == wanted.packed:
                return name
    return None


def _of_ipv6(wanted: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str | None:
    try:
        with open(IPV6, encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:  # no IPv6 here
        return None
    return next((row[5] for row in rows if row[0] == wanted.packed.hex()), None)
