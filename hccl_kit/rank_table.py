"""The rank table as values: which device of which server is which rank.

Values only: no file format, no rule, no I/O. `formats` turns a document into these and back; `rules` judge them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hccl_kit.finding import Pointer

MAX_SERVER_ID = 64
"""HCCL takes server ids of 1 to 64 bytes (R10)."""


@dataclass(frozen=True, slots=True)
class Device:
    """One NPU that is one rank.

    `id` is the physical device id; `ip` the address of its RoCE port as written in the table (None: the key is
    absent, empty string: present and empty; a comma list is kept as it is); `at` the place in the document read.
    """

    id: int
    ip: str | None
    rank: int
    extra: Mapping[str, Any] = field(default_factory=dict)
    at: Pointer = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Server:
    """One host; `id` is any text of 1 to 64 characters, by convention its address. Unknown keys stay in `extra`."""

    id: str
    devices: tuple[Device, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)
    at: Pointer = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class RankTable:
    """A whole table. `declared_servers` is what `server_count` says (None: the key is absent)."""

    version: str
    status: str
    servers: tuple[Server, ...]
    declared_servers: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def devices(self) -> Iterator[tuple[Server, Device]]:
        """Every device with its server, in the order of the document."""
        for server in self.servers:
            for device in server.devices:
                yield server, device

    @property
    def world_size(self) -> int:
        """The number of ranks."""
        return sum(len(server.devices) for server in self.servers)

    def by_rank(self) -> tuple[tuple[Server, Device], ...]:
        """Every device with its server, in the order of the ranks."""
        return tuple(sorted(self.devices(), key=lambda pair: pair[1].rank))
