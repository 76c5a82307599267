"""torch with gloo, NCCL or HCCL, and what tells its devices apart: names, process groups, and how one waits.

Ranks find each other through the selftest's own channel, not by a store at a port. No group is registered with torch.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
import torch.distributed as dist

from hccl_kit.discovery.server_id import interfaces
from hccl_kit.selftest.measured import Operator
from hccl_kit.selftest.ranks import work
from hccl_kit.selftest.ranks.channel import Channel
from hccl_kit.selftest.ranks.work import COPY_OF_CARD, COPY_OF_CORE, SIDE_OF_CARD, SIDE_OF_CORE, Call, Work

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Device(NamedTuple):
    """A device by its name in torch. `synchronize` waits for all that it was given; `side`, `copy`: see `work`."""

    name: str
    group: Callable[[dist.Store, int, int, timedelta], Any]
    synchronize: Callable[[], None]
    side: int = SIDE_OF_CARD
    copy: int = COPY_OF_CARD


def device(backend: str, number: int) -> Device:
    """The device of a rank: of gloo the CPU, of nccl and hccl card `number`, as the process counts them."""
    if backend == "gloo":
        torch.set_num_threads(1)  # the ranks of a server share its cores
        return Device("cpu", dist.ProcessGroupGloo, lambda: None, SIDE_OF_CORE, COPY_OF_CORE)
    if backend == "nccl":
        if not dist.is_nccl_available():
            raise RuntimeError("this torch was built without NCCL")
        return of_card(f"cuda:{number}", torch.cuda, dist.ProcessGroupNCCL)
    package: Any = import_module("torch_npu")
    return of_card(f"npu:{number}", package.npu, package._C._distributed_c10d.ProcessGroupHCCL)


def of_card(name: str, runtime: Any, kind: Any) -> Device:
    """A card: `runtime` is torch.cuda or torch.npu, `kind` the class of its process groups."""
    runtime.set_device(name)

    def group(store: dist.Store, place: int, size: int, timeout: timedelta) -> Any:
        options = kind.Options()
        options._timeout = timeout
        return kind(store, place, size, options)

    return Device(name, group, runtime.synchronize)


class _Mail(dist.Store):  # type: ignore[misc]
    """torch's key-value store over the channel. It is called from threads of the groups."""

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
    """A process group that is not registered with torch, so that many can follow each other."""

    def __init__(self, device: Device, mail: dist.Store, place: int, size: int, seconds: float) -> None:
        self._device = device
        self._mail = mail  # the group keeps a reference that Python does not see
        self._size = size
        self._group = device.group(mail, place, size, timedelta(seconds=seconds))

    def call(self, operator: Operator, source: NDArray[np.float32], count: int) -> Call:
        """A collective of this group."""
        device = self._device
        given = torch.from_numpy(source).to(device.name)
        taken = given.clone()
        received = torch.empty(count // (self._size if operator == "reduce_scatter" else 1), device=device.name)
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
            device.synchronize()

        output = taken if operator in ("all_reduce", "broadcast") else received
        return Call(fill, run, lambda: output.cpu().numpy())

    def close(self) -> None:
        """Drop the connections."""
        del self._group


class TorchRanks:
    """torch on this device."""

    skipped: tuple[Operator, ...] = ()

    def __init__(self, channel: Channel, device: Device) -> None:
        self._channel, self._device = channel, device

    def group(self, ranks: Sequence[int], step: int, seconds: float) -> TorchGroup:
        """A new group, connected."""
        mail = _Mail(self._channel, f"{step}.{ranks[0]}/", list(ranks), seconds)
        return TorchGroup(self._device, mail, ranks.index(self._channel.rank), len(ranks), seconds)

    def product(self) -> Work:
        """A product of matrices by torch."""
        name, side = self._device.name, self._device.side
        matrix, out = torch.rand(side, side, device=name), torch.empty(side, side, device=name)
        return work.product(lambda: self._whole(lambda: torch.mm(matrix, matrix, out=out)), side)

    def copy(self) -> Work:
        """A copy in the memory of the device."""
        given = torch.ones(self._device.copy // work.ITEM, device=self._device.name)
        taken = torch.empty_like(given)
        return work.copy(lambda: self._whole(lambda: taken.copy_(given)), self._device.copy)

    def _whole(self, run: Callable[[], object]) -> None:
        run()
        self._device.synchronize()


def load(backend: str, channel: Channel, card: int, address: str) -> TorchRanks:
    """The backend gloo, nccl or hccl; gloo listens at the interface that has `address`, which may be a name."""
    if name := _interface_of(address):
        os.environ["GLOO_SOCKET_IFNAME"] = name
    return TorchRanks(channel, device(backend, card))


def _interface_of(host: str) -> str | None:
    """The interface with that address or name of this server, at which gloo listens; None: that of the host's name."""
    try:
        addresses = {place[4][0] for place in socket.getaddrinfo(host, None)}
    except OSError:
        return None
    return next((interface.name for interface in interfaces() if interface.address in addresses), None)
