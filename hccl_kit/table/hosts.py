"""The known facts about a server and its cards, from which `generate` makes a table."""

from __future__ import annotations

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
