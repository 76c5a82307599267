"""A rank of the small jobs of real_faults.py: steps of data, computation and two all-reduces over sockets.

Rank 0 is the hub. Faults are planted from outside by signals, or here: HCCL_PLANT is "KIND RANK STEP".
"""

from __future__ import annotations

import os
import random
import socket
import struct
import time
from pathlib import Path

from hccl_kit import Heartbeat, WorkerEnv, collective, recorded, waiting

GRADIENTS, LOSS = 4096, 8
"""Bytes of the two all-reduces of a step."""
KEEP_ALIVE = 60.0
"""Seconds that a delay lasts: longer than the launcher waits."""


class Group:
    """All-reduces through rank 0: it reads a message from every rank and sends them all one back."""

    def __init__(self, env: WorkerEnv) -> None:
        address = (env.master_addr or "127.0.0.1", env.master_port or 0)
        self.peers: list[socket.socket] = []
        if env.rank == 0:
            with socket.create_server(("", address[1]), backlog=64) as server:
                self.peers = [server.accept()[0] for _ in range(env.size - 1)]
            return
        end = time.monotonic() + 60
        while not self.peers:
            try:
                self.peers = [socket.create_connection(address, timeout=5)]
                self.peers[0].settimeout(None)
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def all_reduce(self, values: bytes, *, is_hub: bool) -> bytes:
        """The bytes of all ranks added up; sizes must be equal, as in any all-reduce."""
        if not is_hub:
            self.peers[0].sendall(struct.pack("!I", len(values)) + values)
            return self._receive(self.peers[0])
        parts = [values, *(self._receive(peer) for peer in self.peers)]
        if len({len(part) for part in parts}) > 1:
            time.sleep(3600)  # as cards do: a rank that sends less is waited for
        total = bytes(sum(column) & 255 for column in zip(*parts, strict=True))
        for peer in self.peers:
            peer.sendall(struct.pack("!I", len(total)) + total)
        return total

    def _receive(self, peer: socket.socket) -> bytes:
        (length,) = struct.unpack("!I", self._exactly(peer, 4))
        return self._exactly(peer, length)

    def _exactly(self, peer: socket.socket, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = peer.recv(count - len(data))
            if not piece:
                raise ConnectionResetError("a peer has closed the connection")
            data += piece
        return data


def main() -> None:
    """Steps of all-reduces, without a training."""
    env = WorkerEnv.from_environ(os.environ)
    kind, rank, at = (os.environ.get("HCCL_PLANT") or "none -1 -1").split()
    is_mine = int(rank) == env.rank
    heartbeat = Heartbeat.from_environ(os.environ)
    dice = random.Random(env.rank)
    with collective("join"):
        group = Group(env)
    for step in range(int(os.environ["STEPS"])):
        now = is_mine and step == int(at)
        with waiting("data"):
            time.sleep(dice.uniform(0.005, 0.03))
            if now and kind == "starve":
                _note(step)
                time.sleep(KEEP_ALIVE)
        if now and kind == "delay":
            _note(step)
            time.sleep(KEEP_ALIVE)
        if now and kind == "raise":
            _note(step)
            raise ValueError("a picture cannot be read")
        if now and kind == "exit":
            _note(step)
            os._exit(3)
        sizes = [GRADIENTS, LOSS]
        if now and kind == "size":
            _note(step)
            sizes[0] += 4
        if now and kind == "skip":
            _note(step)
            sizes.pop(0)
        if now and kind == "operator":
            _note(step)
            with collective("all_gather", GRADIENTS):
                group.all_reduce(bytes(GRADIENTS + 1), is_hub=env.rank == 0)  # never ends: see there
        for size in sizes:
            with collective("all_reduce", size):
                group.all_reduce(bytes(size), is_hub=env.rank == 0)
        if step % 5 == 4:
            _save(Path(os.environ["DISK"]), env.rank)
        heartbeat.beat(step + 1)
        if now and kind == "early":
            _note(step)
            return


def _save(folder: Path, rank: int) -> None:
    """A checkpoint, complete before it takes the place of the last one."""
    part = folder / f"checkpoint_{rank}.part"
    part.write_bytes(bytes(20_000))
    part.rename(folder / f"checkpoint_{rank}")


def _note(step: int) -> None:
    """Write the step in which the fault was planted to the file TRUTH, for real_faults.py."""
    Path(os.environ["TRUTH"]).write_text(f"{step}\n")


if __name__ == "__main__":
    with recorded():
        main()
