"""The known facts about a server and its cards, from which `generate` makes a table."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import NamedTuple

from hccl_kit.table.model import Level


class Card(NamedTuple):
    """The known facts about one card.

    `ip` is the address of its RoCE port, `prefix` the prefix length of that network. `on_vnic`: it has no RoCE
    address, and `ip` is its address inside a super pod (Atlas A3). `sdid` is its id in the super pod
    (version 1.2); `local_id` and `levels` are those of version 2.0.
    """

    ip: str | None = None
    prefix: int | None = None
    on_vnic: bool = False
    sdid: int | None = None
    local_id: int | None = None
    levels: tuple[Level, ...] = ()


class Host(NamedTuple):
    """The known facts about one server: `cards` by physical id, in the order of their ranks."""

    id: str
    cards: Mapping[int, Card]
    host_ip: str | None = None
    super_pod: str | None = None


def prefix_length(netmask: str) -> int | None:
    """24 for `255.255.255.0` or `24`; None if `netmask` is not valid."""
    if netmask.isascii() and netmask.isdecimal():
        return int(netmask) if len(netmask) <= 3 and int(netmask) <= 128 else None
    try:
        return ipaddress.IPv4Network(f"0.0.0.0/{netmask}").prefixlen
    except ValueError:
        return None
