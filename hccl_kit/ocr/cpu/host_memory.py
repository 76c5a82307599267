"""The sum over the ranks of one host through memory that they share.

Two ranks sum 0.6 MB in 0.1 to 0.3 ms; MindSpore's own all-reduce on CPU takes 2.5 to 4.4 ms (measured).

The memory has no name and no file, so a killed process leaves nothing behind: rank 0 passes it to the others over Unix
sockets. Both ends of a socket check that the other process belongs to the same user. All of this needs Linux.
"""

from __future__ import annotations

import errno
import mmap
import os
import secrets
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.runtime.consistency import JointError
from hccl_kit.runtime.join import World
from hccl_kit.runtime.pieces import pieces

PIECE = 1 << 18
"""Values of one rank that the others read at once, at most: they stay in the cache of a processor."""
ALL_PIECES = 1 << 21
"""Values of all ranks, at most, which bounds the memory."""
TURNS = 2
"""Places for the piece of a rank: it fills one while slower ranks still read the other."""
RANK_BYTES = 4
"""A rank says its number first."""
TOKEN = 16
"""Random bytes in the name of the socket."""
CREDENTIALS = struct.Struct("3i")
"""SO_PEERCRED: process, user and group of the other end, as the kernel knows them."""
PATIENCE = 60
"""Seconds for a connection to be made: none, unless the machine is overloaded or another process is in the way."""
COUNT_BYTES = 8
UNEQUAL = 0
"""What rank 0 answers if the ranks have different numbers of values."""
GRACE = 30
"""Seconds for the launcher to end this rank after another one has ended. MindSpore's all-reduce fails as late."""


class HostMemory:
    """Sums vectors over `size` ranks in `memory`.

    `peers`: on rank 0 the sockets to all others in the order of the ranks, on these the socket to rank 0.
    """

    def __init__(self, rank: int, size: int, peers: Sequence[socket.socket], memory: mmap.mmap) -> None:
        self.rank = rank
        self.peers = peers
        self.places = np.frombuffer(memory, np.float32).reshape(TURNS, size, -1)
        self.turn = 0

    def sum_over_ranks(self, given: Sequence[NDArray[np.float32]], sums: Sequence[NDArray[np.float32]]) -> None:
        """Write the sums of `given` over all ranks, bit by bit equal on all, into contiguous `sums` of these shapes.

        Every rank must call it. Raises JointError if the ranks have different numbers of values, and KitError if
        another rank has ended.
        """
        count = sum(total.size for total in sums)
        for piece in pieces(given, sums, self.places.shape[2]):
            places = self.places[self.turn]
            for place, values, _ in piece:
                places[self.rank, place] = values
            self._wait_for_all(count)
            for place, _, into in piece:
                first, second, *others = places[:, place]
                np.add(first, second, out=into)  # takes two thirds of the time of np.sum (measured)
                for other in others:
                    np.add(into, other, out=into)
            self.turn = (self.turn + 1) % TURNS

    def close(self) -> None:
        """Close the sockets; the other ranks then see this rank as ended."""
        for peer in self.peers:
            peer.close()

    def _wait_for_all(self, count: int) -> None:
        """Return when every rank has arrived here with `count` values: rank 0 hears each of them, then answers all."""
        try:
            counts = [count, *map(_number_from, self.peers)] if self.rank == 0 else [count]
            answer = count if len(set(counts)) == 1 else UNEQUAL
            for peer in self.peers:
                peer.send(answer.to_bytes(COUNT_BYTES, "big"))
            if self.rank != 0:
                answer = _number_from(self.peers[0])
        except ConnectionError:
            time.sleep(GRACE)
            raise KitError(
                "cpu.ended-rank",
                "another rank has ended; this one waited for it in the all-reduce of the gradients",
                fix="see the logs of the other ranks: the first error has the cause",
            ) from None
        if answer != count:
            raise JointError(
                Message(
                    "cpu.unequal-gradients",
                    "the ranks sum gradients of different sizes; this one has {count} values",
                    count=count,
                ),
                hint=Message(
                    "cpu.unequal-gradients.fix", "run one version of the program with one configuration on all ranks"
                ),
            )


def connect(world: World) -> HostMemory | None:
    """The shared memory of all ranks, or None on every rank if one of them cannot take part.

    Every rank must call it. A rank on another host, or in a container with its own network, cannot take part. Raises
    KitError if a rank fails after all have said that they can.
    """
    length = min(PIECE, ALL_PIECES // world.size)
    nbytes = TURNS * world.size * length * np.dtype(np.float32).itemsize
    try:
        return _invite(world, nbytes) if world.is_main else _follow(world, nbytes)
    except OSError as error:
        raise KitError(
            "cpu.no-shared-memory",
            "rank {rank} of {size} cannot share memory with the others: {reason}",
            fix="set parallel.strategy: framework",
            rank=world.rank,
            size=world.size,
            reason=error,
        ) from error


def _number_from(peer: socket.socket) -> int:
    """The next number from a rank. Raises ConnectionError if that rank has ended."""
    message = peer.recv(COUNT_BYTES)
    if not message:
        raise ConnectionResetError
    return int.from_bytes(message, "big")


def _invite(world: World, nbytes: int) -> HostMemory | None:
    """Rank 0: create the memory and a socket, share the name of the socket, and pass the memory to all who call."""
    name = secrets.token_hex(TOKEN)
    with ExitStack() as stack:
        try:
            memory = stack.enter_context(_new_memory(nbytes))
            listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            listener.bind(address_of(name))
            listener.listen(world.size)
        except OSError:
            name = ""
        world.share(name)
        if not _all_can(world, bool(name)):
            return None
        listener.settimeout(PATIENCE)  # all have called
        peers: dict[int, socket.socket] = {}
        while len(peers) < world.size - 1:
            peer, _ = listener.accept()
            peer.settimeout(PATIENCE)
            rank = int.from_bytes(peer.recv(RANK_BYTES), "big") if _is_of_this_user(peer) else 0
            if 1 <= rank < world.size:
                peers[rank] = peer
            else:
                peer.close()
        in_order = [peers[rank] for rank in range(1, world.size)]
        for peer in in_order:
            socket.send_fds(peer, [b"\0"], [memory])
            peer.settimeout(None)
        return HostMemory(0, world.size, in_order, mmap.mmap(memory, nbytes))


def _follow(world: World, nbytes: int) -> HostMemory | None:
    """The other ranks: call the socket of rank 0, and take the memory that it passes."""
    peer = call_first_rank(world.share(""), world.rank)
    if not _all_can(world, peer is not None) or peer is None:
        if peer is not None:
            peer.close()
        return None
    _, memory, *_ = socket.recv_fds(peer, 1, 1)
    peer.settimeout(None)
    if not memory:
        raise ConnectionResetError(errno.ECONNRESET, "rank 0 has ended")
    try:
        return HostMemory(world.rank, world.size, [peer], mmap.mmap(memory[0], nbytes))
    finally:
        os.close(memory[0])


def call_first_rank(name: str, rank: int) -> socket.socket | None:
    """A socket to rank 0 that has said `rank`; None if there is no such name here or another user has it."""
    if not name:
        return None
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(PATIENCE)
    try:
        peer.connect(address_of(name))
        if _is_of_this_user(peer):
            peer.sendall(rank.to_bytes(RANK_BYTES, "big"))
            return peer
    except OSError:
        pass
    peer.close()
    return None


@contextmanager
def _new_memory(nbytes: int) -> Iterator[int]:
    """The descriptor of new memory, open inside the with statement; mapped memory stays.

    Raises OSError if this system does not have such memory, or not enough of it.
    """
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    memory = os.memfd_create("hccl_kit")
    try:
        os.posix_fallocate(memory, 0, nbytes)  # a page that is missing later would end the process with SIGBUS
        yield memory
    finally:
        os.close(memory)


def address_of(name: str) -> str:
    """The socket of a name, an abstract address of Linux: it is not a file, and ends with its process."""
    return f"\0hccl_kit_{name}"


def _is_of_this_user(peer: socket.socket) -> bool:
    """Whether the other end belongs to the user of this process: any user can reach an abstract address."""
    _, user, _ = CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    return bool(user == os.geteuid())


def _all_can(world: World, can: bool) -> bool:
    return bool(world.gather(np.array([can], np.float32)).all())
