"""The sum through shared memory, with ranks in threads: equal on all, bounded, and given up by all ranks together."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.cpu import host_memory
from hccl_kit.ocr.cpu.host_memory import HostMemory
from hccl_kit.runtime.consistency import JointError
from hccl_kit.runtime.join import World
from hccl_kit.runtime.worker_env import WorkerEnv

SMALL = 64
"""Values of a piece in these tests."""
THREE = np.array([1, 2, 4], np.float32)


class Group:
    """What `World.share` and `World.gather` need of several threads."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.barrier = threading.Barrier(size, timeout=30)
        self.rows: list[Any] = [None] * size

    def exchange(self, rank: int, value: object) -> list[Any]:
        """The values of all ranks."""
        self.barrier.wait()
        self.rows[rank] = value
        self.barrier.wait()
        return list(self.rows)


class ThreadWorld(World):
    """A rank in a thread."""

    __slots__ = ()

    def share(self, text: str) -> str:
        shared: str = self.store.exchange(self.rank, text)[0]
        return shared

    def gather(self, row: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.array(self.store.exchange(self.rank, row))


def connect(size: int) -> list[HostMemory | None]:
    """What `connect` returns on each of `size` ranks."""
    group = Group(size)
    worlds = [ThreadWorld(WorkerEnv(rank, size, rank, size, rank), "script", "CPU", group) for rank in range(size)]
    with ThreadPoolExecutor(size) as threads:
        return list(threads.map(host_memory.connect, worlds))


@contextmanager
def connected(size: int) -> Iterator[list[HostMemory]]:
    found = [memory for memory in connect(size) if memory is not None]
    assert len(found) == size
    for memory in found:
        for peer in memory.peers:
            peer.settimeout(20)  # so that a test with an error fails and does not hang
    try:
        yield found
    finally:
        for memory in found:
            memory.close()


def on_all(ranks: list[HostMemory], call: Callable[[HostMemory], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(ranks)) as threads:
        return list(threads.map(call, ranks))


def descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("count", [0, 1, SMALL - 1, SMALL, 2 * SMALL + 3, 7 * SMALL])
def test_sums_equally_on_all_ranks(size: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_memory, "PIECE", SMALL)
    given = np.random.default_rng(count).standard_normal((size, 1, count)).astype(np.float32)
    with connected(size) as ranks:
        for factor in (1, 3):  # the second sum starts where the first one ended
            values = given * np.float32(factor)
            before = values.copy()
            summed = [[np.empty((1, count), np.float32), np.empty(3, np.float32)] for _ in ranks]
            on_all(ranks, lambda one: one.sum_over_ranks([values[one.rank], THREE], summed[one.rank]))  # noqa: B023  # here
            np.testing.assert_array_equal(values, before)
            for total, of_three in summed:
                np.testing.assert_array_equal(total, summed[0][0])
                np.testing.assert_array_equal(of_three, size * THREE)
            np.testing.assert_allclose(summed[0][0], (given * np.float32(factor)).sum(axis=0), rtol=1e-5, atol=1e-5)


def test_memory_is_bounded_for_any_number_of_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_memory, "ALL_PIECES", 100)
    with connected(6) as ranks:
        assert [memory.places.shape for memory in ranks] == [(2, 6, 16)] * 6


def test_closes_all_other_descriptors() -> None:
    before = descriptors()
    with connected(3):
        assert len(descriptors() - before) == 2 * 2 + 3  # both ends of two sockets, three mappings
    assert descriptors() == before


def test_all_ranks_give_up_if_one_cannot_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    call = host_memory.call_first_rank
    monkeypatch.setattr(host_memory, "call_first_rank", lambda name, rank: None if rank == 2 else call(name, rank))
    before = descriptors()
    assert connect(4) == [None] * 4
    assert descriptors() == before


def refused(*_: object) -> int:
    raise OSError(12, "Cannot allocate memory")


@pytest.mark.parametrize("name", ["memfd_create", "posix_fallocate"])
def test_all_ranks_give_up_without_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, name, refused)
    before = descriptors()
    assert connect(2) == [None, None]
    assert descriptors() == before


def test_a_socket_of_another_user_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)) as listener:
        listener.bind(host_memory.address_of("x"))
        listener.listen()
        own = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)
        assert host_memory.call_first_rank("x", 1) is None
        monkeypatch.setattr(os, "geteuid", lambda: own)
        found = host_memory.call_first_rank("x", 1)
        assert found is not None
        found.close()


@pytest.mark.parametrize("says", [b"", (0).to_bytes(4, "big"), (2).to_bytes(4, "big"), b"\xff" * 4])
def test_a_caller_that_is_no_other_rank_gets_no_memory(says: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    strangers = []
    address = host_memory.address_of

    def call_first(name: str, rank: int) -> socket.socket | None:
        stranger = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stranger.connect(address(name))
        stranger.sendall(says)
        stranger.shutdown(socket.SHUT_WR)
        strangers.append(stranger)
        return call(name, rank)

    call = host_memory.call_first_rank
    monkeypatch.setattr(host_memory, "call_first_rank", call_first)
    with connected(2) as ranks, closing(strangers[0]) as stranger:
        assert stranger.recv(1) == b""
        assert len(ranks[0].peers) == 1


@pytest.mark.parametrize("different", [0, 1, 2])
@pytest.mark.parametrize("less", [1, SMALL + 1])
def test_all_ranks_refuse_different_sizes(different: int, less: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_memory, "PIECE", SMALL)

    def message(memory: HostMemory) -> str:
        count = 2 * SMALL - less * (memory.rank == different)
        with pytest.raises(JointError) as caught:
            memory.sum_over_ranks([np.zeros(count, np.float32)], [np.zeros(count, np.float32)])
        return caught.value.message

    with connected(3) as ranks:
        assert on_all(ranks, message) == [
            f"the ranks sum gradients of different sizes; this one has {2 * SMALL - less * (rank == different)} values"
            for rank in range(3)
        ]


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_names_the_cause_when_a_rank_ends(gone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_memory, "GRACE", 0)
    values = np.zeros(10, np.float32)

    def sum_or_end(memory: HostMemory) -> str:
        try:
            if memory.rank != gone:
                memory.sum_over_ranks([values], [values.copy()])
        except KitError as error:
            return error.message
        finally:
            memory.close()
        return ""

    with connected(3) as ranks:
        messages = on_all(ranks, sum_or_end)
    assert [bool(message) for message in messages] == [rank != gone for rank in range(3)]
    assert all("another rank has ended" in message for message in messages if message)
