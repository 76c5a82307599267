"""torch with gloo. Ranks exchange their addresses through the selftest's own channel instead of a store at a port."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.distributed as dist

from hccl_kit.discovery.server_id import interfaces
from hccl_kit.selftest.bandwidth import Operator
from hccl_kit.selftest.ranks.backend import Call
from hccl_kit.selftest.ranks.channel import Channel

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _Mail(dist.Store):  # type: ignore[misc]
    """torch's key-value store over the channel. It is called from threads of gloo."""

    def __init__(self, channel: Channel, prefix: str, ranks: list[int], seconds: float) -> None:
        super().__init__()
        self._channel, self._prefix, self._ranks, self._seconds = channel, prefix, ranks, seconds

    def set(self, key: str, value: bytes | str) -> None:
        data = value.encode() if isinstance(value, str) else bytes(value)
        self._channel.put(self._prefix + key, data.hex(), self._ranks)

    def get(self, key: str) -> bytes:
        return bytes.fromhex(self._channel.get(self._prefix + key, self._seconds))

    def wait(self, keys: Sequence[str], _timeout: timedelta | None = None) -> None:
        for key in keys:
            self._channel.get(self._prefix + key, self._seconds)

    def check(self, keys: Sequence[str]) -> bool:
        return all(self._channel.has(self._prefix + key) for key in keys)


class TorchGroup:
    """A process group of gloo that is not registered with torch, so that many can follow each other."""

    def __init__(self, mail: _Mail, place: int, size: int, seconds: float) -> None:
        self._mail = mail  # gloo keeps a reference that Python does not see
        self._size = size
        self._group = dist.ProcessGroupGloo(mail, place, size, timedelta(seconds=seconds))

    def call(self, operator: Operator, source: NDArray[np.float32], count: int) -> Call:
        """A collective of this group."""
        given = torch.from_numpy(source)
        taken = given.clone()
        received = torch.empty(count // (self._size if operator == "reduce_scatter" else 1))
        parts, shares = (list(tensor.chunk(self._size)) for tensor in (received, taken))
        group = self._group
        calls: dict[Operator, Callable[[], Any]] = {
            "all_reduce": lambda: group.allreduce([taken]),
            "all_gather": lambda: group.allgather([parts], [taken]),
            "reduce_scatter": lambda: group.reduce_scatter([received], [shares]),
            "broadcast": lambda: group.broadcast([taken], dist.BroadcastOptions()),
            "all_to_all": lambda: group.alltoall_base(received, taken, [], []),
        }
        start = calls[operator]

        def fill() -> None:
            taken.copy_(given)

        def run() -> None:
            start().wait()

        return Call(fill, run, (taken if operator in ("all_reduce", "broadcast") else received).numpy)

    def close(self) -> None:
        """Drop the connections."""
        del self._group


class TorchGloo:
    """torch on the CPU."""

    skipped: tuple[Operator, ...] = ()

    def __init__(self, channel: Channel, address: str) -> None:
        self._channel = channel
        if name := _interface_of(address):
            os.environ["GLOO_SOCKET_IFNAME"] = name
        torch.set_num_threads(1)  # the ranks of a server share its cores

    def group(self, ranks: Sequence[int], step: int, seconds: float) -> TorchGroup:
        """A new group, connected."""
        mail = _Mail(self._channel, f"{step}.{ranks[0]}/", list(ranks), seconds)
        return TorchGroup(mail, ranks.index(self._channel.rank), len(ranks), seconds)

    def product(self, side: int) -> Callable[[], None]:
        """A product of matrices by torch."""
        matrix = torch.rand(side, side)
        out = torch.empty(side, side)

        def run() -> None:
            torch.mm(matrix, matrix, out=out)

        return run


def _interface_of(host: str) -> str | None:
    """The interface with that address or name of this server, at which gloo listens; None: that of the host's name."""
    try:
        addresses = {place[4][0] for place in socket.getaddrinfo(host, None)}
    except OSError:
        return None
    return next((interface.name for interface in interfaces() if interface.address in addresses), None)
