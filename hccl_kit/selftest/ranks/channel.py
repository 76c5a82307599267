"""A rank's connection to the agent of its server: commands in, results and heartbeats out."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue

from hccl_kit.base.schemas import object_in
from hccl_kit.selftest.protocol import HEARTBEAT, MAX_LINE, Fields, encode


class Channel:
    """Messages from and to the agent; `put` and `get` pass texts between ranks. The process ends with the agent."""

    def __init__(self, path: str, rank: int) -> None:
        self.rank = rank
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._lock = threading.Lock()
        self._commands: SimpleQueue[Fields] = SimpleQueue()
        self._values: dict[str, str] = {}
        self._arrived = threading.Condition()
        self.send(event="alive")
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._live, daemon=True).start()

    def commands(self) -> Iterator[Fields]:
        """The commands as they come, without end."""
        while True:
            yield self._commands.get()

    def send(self, **message: object) -> None:
        """Send an event. Ends this process if the agent is gone."""
        try:
            with self._lock:
                self._socket.sendall(encode({"rank": self.rank, **message}))
        except OSError:
            os._exit(1)

    def put(self, key: str, value: str, to: list[int]) -> None:
        """Send a text to other ranks, and keep it here too."""
        self._keep(key, value)
        self.send(event="put", key=key, value=value, to=to)

    def get(self, key: str, seconds: float) -> str:
        """What a rank has put under `key`. Raises TimeoutError if it does not come within `seconds`."""
        end = time.monotonic() + seconds
        with self._arrived:
            while key not in self._values:
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"no partner appeared within {seconds:g} s")
                self._arrived.wait(left)
            return self._values[key]

    def has(self, key: str) -> bool:
        """Whether there is something under `key`."""
        with self._arrived:
            return key in self._values

    def forget(self) -> None:
        """Drop what was put: a step is over."""
        with self._arrived:
            self._values.clear()

    def _keep(self, key: str, value: str) -> None:
        with self._arrived:
            self._values[key] = value
            self._arrived.notify_all()

    def _read(self) -> None:
        with self._socket.makefile("rb") as lines:
            while line := lines.readline(MAX_LINE):
                message = object_in(line)
                if message is None:
                    break
                if message.get("do") == "put":
                    self._keep(str(message.get("key")), str(message.get("value")))
                else:
                    self._commands.put(message)
        os._exit(0)  # the agent is gone, while the main thread may wait in a collective for ever

    def _live(self) -> None:
        """Send heartbeats."""
        while True:
            time.sleep(HEARTBEAT)
            self.send(event="alive")
